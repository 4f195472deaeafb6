/**
 * The view of a process: the transactions that it has applied, in order. What one process has shown, or acknowledged,
 * binds all processes.
 */
import { countedRecord, recordOf, validRecords } from './disk.js'
import {
  Content,
  ProcessField as P,
  processAt,
  SlotField as S,
  SharedField,
  slotAt,
  slotOfEntry,
  transactionOf,
  transactionsMax,
  viewEntry,
  viewMax,
} from './layout.js'
import { nonce, Purpose, type Run } from './run.js'

export function append(
  _run: Run,
  next: Uint8Array,
  process: number,
  slot: number,
  transaction: number,
): string | null {
  const p = processAt(process)
  if (transaction > transactionsMax) return 'invented: a record that nobody wrote is applied'
  const length = next[p + P.viewLength]!
  if (isInView(next, p, transaction)) return `twice: transaction ${transaction} is applied twice`
  if (length === viewMax) throw new Error('the model has more transactions than a view can hold')
  next[p + P.view + length] = viewEntry(slot, transaction)
  next[p + P.viewLength] = length + 1
  return null
}

export function isInView(state: Uint8Array, p: number, transaction: number): boolean {
  for (let index = 0; index < state[p + P.viewLength]!; index++) {
    if (transactionOf(state[p + P.view + index]!) === transaction) return true
  }
  return false
}

export function applyRecords(run: Run, next: Uint8Array, process: number, count: number): string | null {
  const p = processAt(process)
  const head = next[p + P.head]!
  while (next[p + P.applied]! < count) {
    const record = ++next[p + P.applied]!
    const violation = append(run, next, process, head, recordOf(next, slotAt(head), record))
    if (violation !== null) return violation
  }
  return null
}

export function applySlot(run: Run, next: Uint8Array, process: number, slot: number): string | null {
  const p = processAt(process)
  const { ignoresDeadRecords, seedsRecords } = run.rules
  const before = slotAt(slot - 1)
  const base = slotAt(slot)
  const counted = next[base + S.counted]!
  if (next[base + S.content] === Content.torn) return `corrupt: slot ${slot} is torn`
  if (next[base + S.previous] !== next[p + P.headMaker])
    return `fork: slot ${slot} follows another slot ${slot - 1}`
  if (next[p + P.applied]! > counted)
    return `changed: record ${next[p + P.applied]} of tail ${slot - 1} was shown, but slot ${slot} counts ${counted}`
  const isOpening = (next[p + P.purpose]! & Purpose.open) !== 0
  const end =
    ignoresDeadRecords || !isOpening ? counted : Math.max(counted, validRecords(next, before, seedsRecords))
  while (next[p + P.applied]! < end) {
    const record = ++next[p + P.applied]!
    const transaction =
      record > counted ? recordOf(next, before, record) : countedRecord(next, before, base, record)
    if (transaction === 0)
      return `corrupt: slot ${slot} counts ${counted} records, but nothing holds record ${record}`
    const violation = append(run, next, process, slot - 1, transaction)
    if (violation !== null) return violation
  }
  const entry = next[base + S.entry]!
  const violation = entry === 0 ? null : append(run, next, process, slot, entry)
  next[p + P.head] = slot
  next[p + P.applied] = 0
  next[p + P.headMaker] = next[base + S.maker]!
  next[p + P.headDeclaresTail] = next[base + S.declaresTail]!
  if (next[base + S.maker] === nonce(next, process) && next[base + S.declaresTail] === 1) {
    next[p + P.owned] = slot
    next[p + P.gaveUp] = 0
    if (run.rules.opensNewHandle || next[p + P.handle] === 0) next[p + P.handle] = slot
  }
  return violation
}

/** Show the view. It must agree with everything that was shown before. Acknowledge the own transactions in it. */
export function show(run: Run, next: Uint8Array, process: number): string | null {
  const p = processAt(process)
  const shared = run.shared
  const length = next[p + P.viewLength]!
  const shown = next[shared + SharedField.shownLength]!
  for (let index = 0; index < Math.min(length, shown); index++) {
    if (next[p + P.view + index] !== next[shared + SharedField.shown + index])
      return `changed: process ${process} shows ${describe(next, p + P.view, length)}, but ${describe(next, shared + SharedField.shown, shown)} was shown before`
  }
  let acknowledged = 0
  for (let index = 0; index < length; index++) {
    const bit = 1 << (transactionOf(next[p + P.view + index]!) - 1)
    if ((next[p + P.pending]! & bit) === 0) continue
    next[p + P.pending]! &= ~bit
    acknowledged = index + 1
  }
  if (next[shared + SharedField.acknowledged]! < acknowledged)
    next[shared + SharedField.acknowledged] = acknowledged
  const end = run.rules.judgesOnlyAcknowledged ? acknowledged : length
  for (let index = shown; index < end; index++) {
    const entry = next[p + P.view + index]!
    next[shared + SharedField.shown + index] = entry
    next[shared + SharedField.shownLength] = index + 1
    const violation = extend(run, next, index, entry)
    if (violation !== null) return violation
  }
  return null
}

/** The order has one more transaction. Check pins, checkpoints and an opened copy. */
export function extend(run: Run, next: Uint8Array, index: number, entry: number): string | null {
  const shared = run.shared
  const pin = next[shared + SharedField.pin]!
  if (pin !== 0 && index >= next[shared + SharedField.pinLength]! && slotOfEntry(entry) <= pin - 1)
    return `position: transaction ${transactionOf(entry)} comes after the pin of slot ${pin - 1}, but has slot ${slotOfEntry(entry)}`
  const isTaken = run.rules.processes.some(({ takes }) => takes === 'checkpoint')
  const checkpoint = next[shared + SharedField.checkpointSlot]!
  const covered = next[shared + SharedField.checkpointLength]!
  if (isTaken && checkpoint !== 0 && index >= covered && slotOfEntry(entry) <= checkpoint)
    return `position: transaction ${transactionOf(entry)} is not in the checkpoint of slot ${checkpoint}, but has slot ${slotOfEntry(entry)}`
  if (index < next[shared + SharedField.copyLength]! && next[shared + SharedField.copyView + index] !== entry)
    return `copy changed: the copy has ${transactionOf(next[shared + SharedField.copyView + index]!)} where the order has ${transactionOf(entry)}`
  return null
}

export function describe(state: Uint8Array, start: number, length: number): string {
  return `[${Array.from(state.subarray(start, start + length), entry => `${transactionOf(entry)} in slot ${slotOfEntry(entry)}`).join(', ')}]`
}
