/** The parts that the steps of all processes share: the rules, the program counters, and tests of the own state. */
import { isLinked } from './disk.js'
import {
  exists,
  ProcessField as P,
  processAt,
  processBytes,
  SlotField as S,
  SharedField,
  slotAt,
} from './layout.js'
import type { Rules } from './rules.js'
import type { Emit } from './search.js'

/** Where a process is in its program. The steps of owners and sealers follow, in the order of the rules. */
export const At = {
  open: 0,
  idle: 1,
  lookForEnd: 2,
  readMark: 3,
  advance: 4,
  syncFolder: 5,
  applyFile: 6,
  lookBack: 7,
  listTails: 8,
  lookForNewestEnd: 9,
  readNewestTail: 10,
  syncNewestTail: 11,
  lookForNewestSeal: 12,
  start: 13,
  createTail: 14,
  fillTail: 15,
  syncTailName: 16,
  lookForBase: 17,
  lookForTailName: 18,
  syncEnd: 19,
  stopped: 20,
  putFile: 21,
  syncPut: 22,
  lookBackOwn: 23,
  owner: 30,
  sealer: 40,
} as const

/** Why a process refreshes, or ends a tail. */
export const Purpose = { read: 0, open: 1, write: 2 } as const

/** One exploration. */
export interface Run {
  readonly rules: Rules
  /** The address of the shared facts. */
  readonly shared: number
  /** Whether a process runs alone: then the bound on slots is higher, so that the bound does not stop the process. */
  isAlone: boolean
  /** Receives the successors of the current state. */
  emit: Emit
  /** Emits the next steps of a process. */
  readonly step: (state: Uint8Array, process: number) => void
}

/** Return whether the base of the head may have a tail. */
export function mayHaveTail(run: Run, state: Uint8Array, p: number): boolean {
  if (state[p + P.baseDeclaresTail] === 1) return true
  return !run.rules.declaresTails && isLinked(state, slotAt(state[p + P.base]!))
}

/** Return whether the process may append to the tail of its base. */
export function mayAppend(run: Run, state: Uint8Array, p: number): boolean {
  const isOwner = state[p + P.owned] === state[p + P.base] && state[p + P.gaveUp] === 0
  if (!isOwner || state[p + P.ended] !== 0) return false
  return state[p + P.baseDeclaresTail] === 1 || !run.rules.declaresTails
}

/** Return whether the head is still in the log, in the same file. */
export function isHeadThere(run: Run, state: Uint8Array, p: number): boolean {
  const head = state[p + P.head]!
  const base = state[p + P.base]!
  const identifies = run.rules.looksBackAtIdentity
  if (head > base) return isLinked(state, slotAt(base))
  if (!exists(state[slotAt(head) + S.name]!)) return false
  return !identifies || state[slotAt(head) + S.maker] === state[p + P.baseMaker]
}

/** Return the nonce of a process. It differs after each start. */
export function nonce(state: Uint8Array, process: number): number {
  return state[processAt(process) + P.incarnation]! * 8 + process + 1
}

/** Clear the memory of a process. `isNew`: the process was started again, so it uses a new nonce. */
export function forget(next: Uint8Array, process: number, isNew: boolean): void {
  const p = processAt(process)
  const incarnation = next[p + P.incarnation]! + (isNew ? 1 : 0)
  const pending = next[p + P.pending]!
  next.fill(0, p, p + processBytes)
  next[p + P.incarnation] = incarnation
  next[p + P.pending] = pending
}

/** The process forgets its state, and opens the root again. */
export function reopen(run: Run, next: Uint8Array, process: number, label: string, slot: number): void {
  forget(next, process, false)
  run.emit(next, null, process, `${label}, and opens the root again`, slot, 0)
}

/** Begin a refresh. It must show at least what is shown, and acknowledged, now. */
export function refreshFor(run: Run, next: Uint8Array, process: number, purpose: number): void {
  const p = processAt(process)
  next[p + P.purpose] = purpose
  next[p + P.writing] = 0
  next[p + P.shownBefore] = next[run.shared + SharedField.shownLength]!
  next[p + P.acknowledgedBefore] = next[run.shared + SharedField.acknowledged]!
  next[p + P.at] = At.lookForEnd
}

/** A sync of `_log/` fails. Then the process shows and writes nothing before it has opened the root again. */
export function failFolderSync(run: Run, state: Uint8Array, process: number): void {
  if (state[run.shared + SharedField.syncFailures] === 0 || run.isAlone) return
  const failed = state.slice()
  failed[run.shared + SharedField.syncFailures]!--
  reopen(run, failed, process, 'fails to sync _log/', 0)
}
