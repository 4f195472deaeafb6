/** What the steps of all processes share: the rules, the program counters, and tests of the own state. */
import { countedRecord, isLinked } from './disk.js'
import {
  Durability,
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
  lookForNext: 2,
  lookBack: 3,
  syncFolder: 4,
  apply: 5,
  readMark: 6,
  readTail: 7,
  syncReadTail: 8,
  lookForSeal: 9,
  lookForSlot: 10,
  createTail: 11,
  fillTail: 12,
  syncTailName: 13,
  lookForTailName: 14,
  stopped: 15,
  owner: 20,
  sealer: 40,
} as const

/** Why a process refreshes, as bits. */
export const Purpose = { open: 1, write: 2, position: 4 } as const

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

/** Return whether the newest applied slot may have a tail. */
export function hasTail(run: Run, state: Uint8Array, p: number): boolean {
  if (state[p + P.headDeclaresTail] === 1) return true
  return !run.rules.declaresTails && isLinked(state, slotAt(state[p + P.head]!))
}

/** Return whether the process may append records to the tail of its newest applied slot. */
export function ownsHead(state: Uint8Array, p: number): boolean {
  return state[p + P.owned] === state[p + P.head] && state[p + P.gaveUp] === 0
}

/** Return whether the newest applied slot is still in the log, as the same file. */
export function isHeadThere(run: Run, state: Uint8Array, p: number): boolean {
  const base = slotAt(state[p + P.head]!)
  if (state[base + S.name] === Durability.absent) return false
  return !run.rules.looksBackAtIdentity || state[base + S.maker] === state[p + P.headMaker]
}

/** Return whether a process must sync the folder before it applies the slot after its head. */
export function needsSync(run: Run, state: Uint8Array, process: number): boolean {
  const p = processAt(process)
  const head = state[p + P.head]!
  const base = slotAt(head + 1)
  const { syncsBeforeApply } = run.rules
  if (syncsBeforeApply === 'never' || state[base + S.name] !== Durability.cached) return false
  if (syncsBeforeApply === 'always') return true
  const isOwn = (transaction: number) =>
    transaction !== 0 && (state[p + P.pending]! & (1 << (transaction - 1))) !== 0
  if (isOwn(state[base + S.entry]!)) return true
  for (let record = state[p + P.applied]! + 1; record <= state[base + S.counted]!; record++) {
    if (isOwn(countedRecord(state, slotAt(head), base, record))) return true
  }
  return false
}

/** Return the nonce of a process. It differs after each start. */
export function nonce(state: Uint8Array, process: number): number {
  return (state[processAt(process) + P.incarnation]! + 1) * 8 + process - 7
}

/** Clear the memory of a process. `isNew`: the process was started again, so it uses a new nonce. */
export function forget(next: Uint8Array, process: number, isNew: boolean): void {
  const p = processAt(process)
  const incarnation = next[p + P.incarnation]! + (isNew ? 1 : 0)
  const pending = next[p + P.pending]!
  const mustTakePosition = next[p + P.mustTakePosition]!
  next.fill(0, p, p + processBytes)
  next[p + P.incarnation] = incarnation
  next[p + P.pending] = pending
  next[p + P.mustTakePosition] = mustTakePosition
}

/** The process forgets its state, and opens the root again. */
export function reopen(run: Run, next: Uint8Array, process: number, label: string, slot: number): void {
  forget(next, process, false)
  run.emit(next, null, process, `${label}, and opens the root again`, slot, 0)
}

/** A refresh begins. It must show at least what is shown, and acknowledged, now. */
export function rememberShown(run: Run, next: Uint8Array, p: number): void {
  next[p + P.shownBefore] = next[run.shared + SharedField.shownLength]!
  next[p + P.acknowledgedBefore] = next[run.shared + SharedField.acknowledged]!
}
