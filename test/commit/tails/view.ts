/**
 * The view of a process: the transactions that it has applied, in the order of slots. A transaction that one process
 * has shown or acknowledged must appear in the views of all others.
 */
import { endedRecord, recordOf, validRecords } from './disk.js'
import {
  Content,
  ProcessField as P,
  processAt,
  recordChecksum,
  SlotField as S,
  SharedField,
  slotAt,
  transactionsMax,
} from './layout.js'
import { nonce, type Run } from './run.js'

/** Apply the slot after the head, which has the given transaction. Returns what is wrong with it. */
export function append(next: Uint8Array, process: number, transaction: number): string | null {
  const p = processAt(process)
  if (transaction > transactionsMax) return 'invented: a record that nobody wrote is applied'
  if (isInView(next, p, transaction)) return `twice: transaction ${transaction} is applied twice`
  const head = next[p + P.head]!
  next[p + P.view + head - 1] = transaction
  next[p + P.head] = head + 1
  return null
}

export function isInView(state: Uint8Array, p: number, transaction: number): boolean {
  return state.subarray(p + P.view, p + P.view + state[p + P.head]! - 1).includes(transaction)
}

/** Return the first pending transaction that is not in the view; 0 if there is none. */
export function nextTransaction(state: Uint8Array, p: number): number {
  for (let transaction = 1; transaction <= transactionsMax; transaction++) {
    const isPending = (state[p + P.pending]! & (1 << (transaction - 1))) !== 0
    if (isPending && !isInView(state, p, transaction)) return transaction
  }
  return 0
}

/** Apply the slots of the tail of the base, up to `count` records. `isEnded`: the end may have copies of them. */
export function applyRecords(
  next: Uint8Array,
  process: number,
  count: number,
  isEnded: boolean,
): string | null {
  const p = processAt(process)
  const slot = next[p + P.base]!
  const base = slotAt(slot)
  for (let head = next[p + P.head]!; head < slot + count; head++) {
    const record = head + 1 - slot
    const transaction = isEnded ? endedRecord(next, base, record) : recordOf(next, base, record)
    if (transaction === 0) return `corrupt: slot ${head + 1} is in tail ${slot}, but no file has it`
    const violation = append(next, process, transaction)
    next[p + P.headChecksum] = recordChecksum(next[p + P.baseMaker]!)
    if (violation !== null) return violation
  }
  return null
}

/** Apply the slot after the head, which has a file. */
export function applyFile(run: Run, next: Uint8Array, process: number): string | null {
  const p = processAt(process)
  const slot = next[p + P.head]! + 1
  const base = slotAt(slot)
  const { ignoresDeadRecords, seedsRecords, opensNewHandle } = run.rules
  if (next[base + S.content] === Content.torn) return `corrupt: slot ${slot} is torn`
  if (!ignoresDeadRecords && next[p + P.ended] !== 0) {
    const tail = next[p + P.base]!
    const valid = validRecords(next, slotAt(tail), seedsRecords)
    const violation = applyRecords(next, process, Math.max(valid, next[p + P.ended]! - 1), false)
    if (violation !== null) return violation
  }
  if (next[base + S.previous] !== next[p + P.headChecksum])
    return `fork: slot ${slot} does not follow slot ${slot - 1}`
  const violation = append(next, process, next[base + S.transaction]!)
  startBase(next, p, slot)
  if (next[base + S.maker] !== nonce(next, process) || next[base + S.declaresTail] === 0) return violation
  next[p + P.owned] = slot
  next[p + P.gaveUp] = 0
  if (opensNewHandle || next[p + P.handle] === 0) next[p + P.handle] = slot
  return violation
}

/** The head has a file. */
export function startBase(next: Uint8Array, p: number, slot: number): void {
  const base = slotAt(slot)
  next[p + P.base] = slot
  next[p + P.baseMaker] = next[base + S.maker]!
  next[p + P.headChecksum] = next[base + S.maker]!
  next[p + P.baseDeclaresTail] = next[base + S.declaresTail]!
  next[p + P.ended] = 0
}

/** Show the view. It must agree with everything that was shown before. Acknowledge the own transactions in it. */
export function show(run: Run, next: Uint8Array, process: number): string | null {
  const p = processAt(process)
  const shared = run.shared
  const length = next[p + P.head]! - 1
  const shown = next[shared + SharedField.shownLength]!
  for (let index = 0; index < Math.min(length, shown); index++) {
    if (next[p + P.view + index] !== next[shared + SharedField.shown + index])
      return `changed: process ${process} shows ${describe(next, p + P.view, length)}, but ${describe(next, shared + SharedField.shown, shown)} was shown before`
  }
  let acknowledged = 0
  for (let index = 0; index < length; index++) {
    const bit = 1 << (next[p + P.view + index]! - 1)
    if ((next[p + P.pending]! & bit) === 0) continue
    next[p + P.pending]! &= ~bit
    acknowledged = index + 1
  }
  if (next[shared + SharedField.acknowledged]! < acknowledged)
    next[shared + SharedField.acknowledged] = acknowledged
  const end = run.rules.judgesOnlyAcknowledged ? acknowledged : length
  for (let index = shown; index < end; index++) {
    const transaction = next[p + P.view + index]!
    next[shared + SharedField.shown + index] = transaction
    next[shared + SharedField.shownLength] = index + 1
    if (
      index < next[shared + SharedField.copyLength]! &&
      next[shared + SharedField.copyView + index] !== transaction
    )
      return `copy changed: the copy has ${next[shared + SharedField.copyView + index]} where the order has ${transaction}`
  }
  return null
}

function describe(state: Uint8Array, start: number, length: number): string {
  return `[${state.subarray(start, start + length).join(', ')}]`
}
