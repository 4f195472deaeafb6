/**
 * A plain copy of a live root: a program reads one file after the other, and any steps of other processes happen
 * between two reads. Then a process opens the copy somewhere else.
 *
 * - A name that is gone when the copy reaches it is skipped.
 * - A tail is read while it grows: its mark in one step, and each record in one more step. A record that is not synced
 *   may be copied torn; then it is not valid in the copy.
 * - The copy reads what the operating system caches, so it may have names and records that are not durable.
 */
import { countedRecord, markOf, recordAt, validRecords } from './disk.js'
import {
  CopyField as C,
  copyBytes,
  Durability,
  RecordState,
  SlotField as S,
  SharedField,
  sharedBytes,
  slotAt,
  slotBytes,
  slotsMax,
  transactionOf,
  viewEntry,
  viewMax,
} from './layout.js'
import type { CopyRules, Deletion, Rules } from './rules.js'
import type { Emit } from './search.js'

/** The value of `copyStep` after the copy was opened. */
const opened = 255

/** One read of a copy. `slot` and `record` are 0 if they have no meaning. */
interface Read {
  readonly what: 'checkpoint' | 'names' | 'slot' | 'seal' | 'mark' | 'record'
  readonly slot: number
  readonly record: number
}

const programs = new WeakMap<Rules, readonly Read[]>()

/** Return all reads of a copy, in order. */
function programOf(rules: Rules, copy: CopyRules): readonly Read[] {
  const known = programs.get(rules)
  if (known !== undefined) return known
  const reads: Read[] = []
  const add = (what: Read['what'], slot = 0, record = 0) => reads.push({ what, slot, record })
  const slots = Array.from({ length: rules.slots }, (_, index) => index + 1)
  for (const folder of copy.folders) {
    if (folder === 'checkpoints') add('checkpoint')
    else if (folder === 'names') add('names')
    else if (folder === 'slots') {
      for (const slot of copy.slots === 'ascending' ? slots : slots.toReversed()) add('slot', slot)
    } else {
      for (const slot of slots.slice(0, rules.lastTail)) {
        if (!copy.readsMarkLast) add('mark', slot)
        for (let record = 1; record <= rules.recordsPerTail; record++) add('record', slot, record)
        if (copy.readsMarkLast) add('mark', slot)
        // Seals are copied as late as possible, so that a copy without a seal says as much as it can.
        if (copy.opens === 'mark if sealed') add('seal', slot)
      }
    }
  }
  programs.set(rules, reads)
  return reads
}

/** The address of the fields of the copy that are not in a slot block. */
function extraAt(shared: number): number {
  return shared + sharedBytes + slotsMax * slotBytes
}

/** Return whether the trimmer may make a deletion now. */
export function mayDelete(state: Uint8Array, shared: number, copy: CopyRules, what: Deletion[0]): boolean {
  const step = state[shared + SharedField.copyStep]!
  if (step === 0 || step === opened) return true
  switch (copy.trimmerDeletes) {
    case 'nothing':
      return false
    case 'old':
      return state[extraAt(shared) + C.trimmerBegan] === 1
    case 'tails':
      return what === 'tail'
    case 'everything':
      return true
  }
}

/** Return whether a copy is being made. */
export function isCopying(state: Uint8Array, shared: number): boolean {
  const step = state[shared + SharedField.copyStep]!
  return step > 0 && step < opened
}

/** Emit the next step of the copy. */
export function copySteps(state: Uint8Array, shared: number, rules: Rules, emit: Emit): void {
  const { copy } = rules
  const step = state[shared + SharedField.copyStep]!
  if (copy === null || step === opened) return
  if (step === 0) {
    const next = state.slice()
    next[shared + SharedField.copyStep] = 1
    next[shared + SharedField.copyAcknowledged] = state[shared + SharedField.acknowledged]!
    if (state[shared + SharedField.trimmed] !== 0) next[extraAt(shared) + C.trimmerBegan] = 1
    emit(next, null, -1, 'a copy begins', 0, 0)
    return
  }
  const program = programOf(rules, copy)
  const read = program[step - 1]
  const next = state.slice()
  if (read === undefined) {
    const violation = open(next, shared, rules, copy)
    emit(next, violation, -1, 'the copy is opened', 0, 0)
    return
  }
  next[shared + SharedField.copyStep] = step + 1
  const { what, slot, record } = read
  const target = shared + sharedBytes
  const listsNames = copy.folders.includes('names')
  const isListed = ((state[extraAt(shared) + C.listed]! >> (slot - 1)) & 1) === 1
  if (what === 'slot' && listsNames && !isListed) {
    copySteps(next, shared, rules, emit)
    return
  }
  if (what === 'record' && canTear(state, slot, record)) {
    emit(next.slice(), null, -1, 'the copy reads a torn record % of tail %', record, slot)
  }
  copyPart(state, next, target, read)
  // Without a trimmer, slots and checkpoints never change, so it does not matter when they are read.
  const canWait = rules.trims === null && ((what === 'slot' && listsNames) || what === 'checkpoint')
  if (canWait) {
    copySteps(next, shared, rules, emit)
    return
  }
  if (what === 'record') emit(next, null, -1, 'the copy reads record % of tail %', record, slot)
  else
    emit(next, null, -1, `the copy reads ${what === 'names' ? 'the names of the log' : `${what} %`}`, slot, 0)
}

/** Whether a record may be copied in part: it was written a moment ago. */
function canTear(state: Uint8Array, slot: number, record: number): boolean {
  return state[recordAt(slotAt(slot), record) + 1] === RecordState.cached
}

function copyPart(state: Uint8Array, next: Uint8Array, target: number, read: Read): void {
  const shared = target - sharedBytes
  const extra = extraAt(shared)
  if (read.what === 'names') {
    for (let slot = 1; slot <= slotsMax; slot++) {
      if (state[slotAt(slot) + S.name] !== Durability.absent) next[extra + C.listed]! |= 1 << (slot - 1)
    }
    return
  }
  if (read.what === 'checkpoint') {
    next[extra + C.checkpointSlot] = state[shared + SharedField.checkpointSlot]!
    next[extra + C.checkpointLength] = state[shared + SharedField.checkpointLength]!
    for (let index = 0; index < viewMax; index++) {
      next[extra + C.checkpointView + index] = state[shared + SharedField.checkpointView + index]!
    }
    return
  }
  const from = slotAt(read.slot)
  const to = target + from
  const move = (first: number, last: number) => {
    for (let field = first; field <= last; field++) next[to + field] = state[from + field]!
  }
  if (read.what === 'slot') {
    if (state[from + S.name] !== Durability.absent) move(S.name, S.previous)
  } else if (read.what === 'seal') move(S.seal, S.seal)
  else if (read.what === 'mark') {
    move(S.mark, S.mark)
    // A tail without a name is not found. Its seed is copied with the start of the file.
    if (state[from + S.tailName] === Durability.cached || state[from + S.tailName] === Durability.durable)
      move(S.tailName, S.tailBoot)
  } else move(recordAt(0, read.record), recordAt(0, read.record) + 1)
}

/** Open the copy, and replace its files by what it shows. Returns what is wrong with the copy. */
function open(next: Uint8Array, shared: number, rules: Rules, copy: CopyRules): string | null {
  const target = shared + sharedBytes
  const view: number[] = []
  const broken = showCopy(next, target, rules, copy, view)
  next.fill(0, target, target + copyBytes)
  next[shared + SharedField.copyStep] = opened
  if (typeof broken === 'string') return `copy broken: ${broken}`
  const acknowledged = next[shared + SharedField.copyAcknowledged]!
  next[shared + SharedField.copyAcknowledged] = 0
  if (view.length < acknowledged)
    return `copy lost: the copy has ${view.length} transactions, but ${acknowledged} were acknowledged before it began`
  if (new Set(view.map(transactionOf)).size < view.length) return 'twice: the copy has a transaction twice'
  const certain = copy.mayEndInFlight ? Math.max(acknowledged, view.length - broken) : view.length
  next[shared + SharedField.copyLength] = certain
  for (let index = 0; index < certain; index++) {
    const entry = view[index]!
    next[shared + SharedField.copyView + index] = entry
    if (index >= next[shared + SharedField.shownLength]!) continue
    const shown = next[shared + SharedField.shown + index]!
    if (shown !== entry)
      return `copy changed: the copy has ${transactionOf(entry)} where the order has ${transactionOf(shown)}`
  }
  return null
}

/**
 * Add the transactions of a copy to `view`. Returns the number of records above the mark of its last tail, or why the
 * copy does not open.
 */
function showCopy(
  state: Uint8Array,
  target: number,
  rules: Rules,
  copy: CopyRules,
  view: number[],
): number | string {
  const extra = extraAt(target - sharedBytes)
  const isThere = (slot: number) =>
    slot <= slotsMax && state[target + slotAt(slot) + S.name] !== Durability.absent
  let last = slotsMax
  while (last > 0 && !isThere(last)) last--
  let head = 1
  const checkpoint = state[extra + C.checkpointSlot]!
  if (checkpoint > last && !copy.skipsNewerCheckpoints) {
    return `it has a checkpoint of slot ${checkpoint}, and its log ends with slot ${last}`
  }
  if (checkpoint > 0 && checkpoint <= last) {
    head = checkpoint
    for (let index = 0; index < state[extra + C.checkpointLength]!; index++) {
      view.push(state[extra + C.checkpointView + index]!)
    }
  }
  if (!isThere(head)) return `slot ${head} is missing`
  for (; isThere(head + 1); head++) {
    const base = target + slotAt(head)
    const after = target + slotAt(head + 1)
    if (state[after + S.previous] !== state[base + S.maker])
      return `slot ${head + 1} follows another slot ${head}`
    for (let record = 1; record <= state[after + S.counted]!; record++) {
      const transaction = countedRecord(state, base, after, record)
      if (transaction === 0) return `slot ${head + 1} counts record ${record}, which is missing`
      view.push(viewEntry(head, transaction))
    }
    const entry = state[after + S.entry]!
    if (entry !== 0) view.push(viewEntry(head + 1, entry))
  }
  if (head < last) return `slot ${head + 1} is missing, although slot ${last} is there`
  const base = target + slotAt(head)
  const mark = markOf(state, base, rules.seedsRecords)
  const usesMark = copy.opens === 'mark' || (copy.opens === 'mark if sealed' && state[base + S.seal] !== 0)
  const count = usesMark ? mark : validRecords(state, base, rules.seedsRecords)
  for (let record = 1; record <= count; record++) {
    view.push(viewEntry(head, state[recordAt(base, record)]!))
  }
  return count - mark
}
