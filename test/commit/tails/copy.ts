/**
 * A plain copy of a live root: a program reads the newest checkpoint, lists `_log/` once, and then reads one file after
 * the other, while other processes go on. Then a process opens the copy somewhere else.
 *
 * - A name that is gone when the copy reaches it is skipped. A name that was not listed is not copied.
 * - A tail is read while it grows: its mark in one step, and each record in one more step. A record that is not synced
 *   may be copied torn; then it is not valid in the copy.
 * - The copy reads what the operating system caches, so it may have names and records that are not durable.
 */
import { endedRecord, isLinked, markOf, recordAt, recordOf, validRecords } from './disk.js'
import {
  CopyField as C,
  copyBytes,
  exists,
  RecordState,
  recordChecksum,
  recordsMax,
  SlotField as S,
  SharedField,
  sharedBytes,
  slotAt,
  slotBytes,
  slotsMax,
} from './layout.js'
import type { CopyRules, Rules } from './rules.js'
import type { Emit } from './search.js'

/** The value of `copyStep` after the copy was opened. */
const opened = 255

/** One read of a copy. `slot` and `record` are 0 if they have no meaning. */
interface Read {
  readonly what: 'checkpoint' | 'names' | 'slot' | 'end' | 'mark' | 'record'
  readonly slot: number
  readonly record: number
}

const programs = new WeakMap<Rules, readonly Read[]>()
const bits = { slot: 1, tail: 2, end: 4 } as const

/** Return all reads of a copy, in order. */
function programOf(rules: Rules, copy: CopyRules): readonly Read[] {
  const known = programs.get(rules)
  if (known !== undefined) return known
  const reads: Read[] = []
  const add = (what: Read['what'], slot = 0, record = 0) => reads.push({ what, slot, record })
  const ascending = Array.from({ length: rules.slots }, (_, index) => index + 1)
  const slots = copy.slots === 'ascending' ? ascending : ascending.toReversed()
  const addTail = (slot: number) => {
    if (!copy.readsMarkLast) add('mark', slot)
    for (let record = 1; record <= rules.recordsPerTail; record++) add('record', slot, record)
    if (copy.readsMarkLast) add('mark', slot)
  }
  for (const step of copy.steps) {
    if (step === 'checkpoints') add('checkpoint')
    else if (step === 'names') add('names')
    else {
      for (const slot of slots) {
        for (const kind of copy.kinds) {
          if (kind === 'slot') add('slot', slot)
          else if (slot > rules.lastTail) continue
          else if (kind === 'end') add('end', slot)
          else addTail(slot)
        }
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
export function mayDelete(state: Uint8Array, shared: number, copy: CopyRules): boolean {
  if (!isCopying(state, shared) || copy.trimmerDeletes === 'everything') return true
  return state[extraAt(shared) + C.trimmerBegan] === 1
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
  const next = state.slice()
  if (step === 0) {
    next[shared + SharedField.copyStep] = 1
    next[shared + SharedField.copyAcknowledged] = state[shared + SharedField.acknowledged]!
    if (state[shared + SharedField.trimmed] !== 0) next[extraAt(shared) + C.trimmerBegan] = 1
    emit(next, null, -1, 'a copy begins', 0, 0)
    return
  }
  const read = programOf(rules, copy)[step - 1]
  if (read === undefined) {
    const violation = open(next, shared, rules, copy)
    emit(next, violation, -1, 'the copy is opened', 0, 0)
    return
  }
  next[shared + SharedField.copyStep] = step + 1
  const { what, slot, record } = read
  const kind = what === 'mark' || what === 'record' ? 'tail' : what
  const isFile = kind === 'slot' || kind === 'end' || kind === 'tail'
  const isListed = isFile && (state[extraAt(shared) + C.listed + slot - 1]! & bits[kind]) !== 0
  if (isFile && copy.listsNames && !isListed) {
    copySteps(next, shared, rules, emit)
    return
  }
  if (what === 'record' && state[recordAt(slotAt(slot), record) + 1] === RecordState.cached) {
    emit(next.slice(), null, -1, 'the copy reads a torn record % of tail %', record, slot)
  }
  copyPart(state, next, shared, read)
  // Without a trimmer, listed files and checkpoints never change, so it does not matter when they are read.
  const canWait = rules.trims === null && copy.listsNames && kind !== 'tail' && what !== 'names'
  if (canWait) copySteps(next, shared, rules, emit)
  else if (what === 'record') emit(next, null, -1, 'the copy reads record % of tail %', record, slot)
  else emit(next, null, -1, `the copy reads ${what === 'names' ? '_log/' : `${what} %`}`, slot, 0)
}

function copyPart(state: Uint8Array, next: Uint8Array, shared: number, read: Read): void {
  const extra = extraAt(shared)
  if (read.what === 'names') {
    for (let slot = 1; slot <= slotsMax; slot++) {
      const base = slotAt(slot)
      next[extra + C.listed + slot - 1] =
        (exists(state[base + S.name]!) ? bits.slot : 0) |
        (isLinked(state, base) ? bits.tail : 0) |
        (exists(state[base + S.end]!) ? bits.end : 0)
    }
    return
  }
  if (read.what === 'checkpoint') {
    const from = shared + SharedField.checkpointSlot
    next.copyWithin(extra + C.checkpointSlot, from, from + 2 + slotsMax - 1)
    return
  }
  const from = slotAt(read.slot)
  const to = shared + sharedBytes + from
  const move = (first: number, last: number) => {
    for (let field = first; field <= last; field++) next[to + field] = state[from + field]!
  }
  if (read.what === 'slot') {
    if (exists(state[from + S.name]!)) move(S.name, S.previous)
  } else if (read.what === 'end') {
    if (exists(state[from + S.end]!)) move(S.end, S.copies + recordsMax - 1)
  } else if (read.what === 'mark') {
    if (!isLinked(state, from)) return
    move(S.mark, S.mark)
    move(S.tailName, S.tailBoot)
  } else move(recordAt(0, read.record), recordAt(0, read.record) + 1)
}

/** Open the copy, and replace its files by what it shows. Returns what is wrong with the copy. */
function open(next: Uint8Array, shared: number, rules: Rules, copy: CopyRules): string | null {
  const target = shared + sharedBytes
  const view: number[] = []
  const inFlight = showCopy(next, target, rules, copy, view)
  next.fill(0, target, target + copyBytes)
  next[shared + SharedField.copyStep] = opened
  if (typeof inFlight === 'string') return `copy broken: ${inFlight}`
  const acknowledged = next[shared + SharedField.copyAcknowledged]!
  next[shared + SharedField.copyAcknowledged] = 0
  if (view.length < acknowledged)
    return `copy lost: the copy has ${view.length} transactions, but ${acknowledged} were acknowledged before it began`
  if (new Set(view).size < view.length) return 'twice: the copy has a transaction twice'
  const certain = copy.mayEndInFlight ? Math.max(acknowledged, view.length - inFlight) : view.length
  next[shared + SharedField.copyLength] = certain
  for (let index = 0; index < certain; index++) {
    const transaction = view[index]!
    next[shared + SharedField.copyView + index] = transaction
    const shown = next[shared + SharedField.shown + index]!
    if (index < next[shared + SharedField.shownLength]! && shown !== transaction)
      return `copy changed: the copy has ${transaction} where the order has ${shown}`
  }
  return null
}

/**
 * Add the transactions of a copy to `view`. Returns the number of records after the mark of its last tail, or why the
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
  const at = (slot: number) => target + slotAt(slot)
  const isThere = (slot: number) => slot <= slotsMax && exists(state[at(slot) + S.name]!)
  const checkpoint = state[extra + C.checkpointSlot]!
  let head = Math.max(1, checkpoint)
  for (let index = 0; index < checkpoint - 1; index++) view.push(state[extra + C.checkpointView + index]!)
  let base = head
  while (base > 0 && !isThere(base) && !isLinked(state, at(base))) base--
  if (base === 0) return `slot ${head} is missing`
  for (;;) {
    const maker = isThere(base) ? state[at(base) + S.maker]! : state[at(base) + S.tailSeed]!
    const hasEnd = exists(state[at(base) + S.end]!)
    const mark = markOf(state, at(base), rules.seedsRecords)
    let count = hasEnd ? state[at(base) + S.endRecords]! : validRecords(state, at(base), rules.seedsRecords)
    if (!hasEnd && copy.opens === 'mark') count = mark
    for (let after = base + 1; !hasEnd && after <= base + count; after++) {
      if (rules.usesFileAfter && isThere(after)) count = after - 1 - base
    }
    if (head > base + count) return `slot ${head} of the checkpoint is missing`
    for (; head < base + count; head++) {
      const record = head + 1 - base
      const isCopied = hasEnd && record > state[at(base) + S.endFrom]!
      const valid = isCopied || record <= validRecords(state, at(base), rules.seedsRecords)
      if (!valid) return `slot ${head + 1} is in tail ${base}, which lacks it`
      view.push(isCopied ? endedRecord(state, at(base), record) : recordOf(state, at(base), record))
    }
    if (!isThere(head + 1)) {
      for (let slot = head + 2; slot <= slotsMax; slot++)
        if (isThere(slot)) return `slot ${head + 1} is missing, although slot ${slot} is there`
      return hasEnd ? 0 : Math.max(0, count - mark)
    }
    const checksum = head > base ? recordChecksum(maker) : maker
    if (state[at(head + 1) + S.previous] !== checksum) return `slot ${head + 1} follows another slot ${head}`
    view.push(state[at(head + 1) + S.transaction]!)
    base = ++head
  }
}
