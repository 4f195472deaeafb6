/**
 * The files of a state, and what syncs and power losses do to them. `base` is the address of a slot block: in the root,
 * or in a copy of the root.
 */
import {
  Content,
  Durability,
  exists,
  RecordState,
  recordsMax,
  SlotField as S,
  SharedField,
  slotAt,
  slotsMax,
} from './layout.js'

/** The fields of names in `_log/`. */
const nameFields = [S.name, S.seal, S.tailName, S.end] as const

/** Return the address of a record's transaction. Its state is in the next byte. `record`: from 1 on. */
export function recordAt(base: number, record: number): number {
  return base + S.records + 2 * (record - 1)
}

/** Return the transaction of a record. */
export function recordOf(state: Uint8Array, base: number, record: number): number {
  return state[recordAt(base, record)]!
}

/** Return the number of valid records of a tail: those before the first that is absent or does not follow. */
export function validRecords(state: Uint8Array, base: number, isSeeded: boolean): number {
  if (state[base + S.tailName] === Durability.absent) return 0
  if (isSeeded && exists(state[base + S.name]!) && state[base + S.tailSeed] !== state[base + S.maker])
    return 0
  let valid = 0
  while (valid < recordsMax && state[recordAt(base, valid + 1) + 1] !== RecordState.absent) valid++
  return valid
}

/** Return the mark of a tail. A mark above the valid records does not count. */
export function markOf(state: Uint8Array, base: number, isSeeded: boolean): number {
  return Math.min(state[base + S.mark]!, validRecords(state, base, isSeeded))
}

/** Return the transaction of a slot of an ended tail, from the end or from the tail; 0 if neither has it. */
export function endedRecord(state: Uint8Array, base: number, record: number): number {
  if (exists(state[base + S.end]!) && record > state[base + S.endFrom]!)
    return state[base + S.copies + record - 1]!
  return validRecords(state, base, false) < record ? 0 : recordOf(state, base, record)
}

/** Return whether the tail of a slot has a name. */
export function isLinked(state: Uint8Array, base: number): boolean {
  return exists(state[base + S.tailName]!)
}

/** Make all names in `_log/` durable, and all deletions of names. `withTails`: also the names of tails. */
export function syncFolder(state: Uint8Array, withTails = true): void {
  for (let slot = 1; slot <= slotsMax; slot++) {
    const base = slotAt(slot)
    for (const field of nameFields) {
      if (field === S.tailName && !withTails) continue
      const name = state[base + field]
      if (name === Durability.cached) state[base + field] = Durability.durable
      else if (name === Durability.deleted) forgetFile(state, base, field)
    }
  }
}

/** The deletion of a file is durable. Processes that have a tail open still read and write it. */
function forgetFile(state: Uint8Array, base: number, field: number): void {
  if (field === S.tailName) state[base + field] = Durability.gone
  else clearFile(state, base, field)
}

/** Clear the state of a file that was never created, or that no process can use any more. */
function clearFile(state: Uint8Array, base: number, field: number): void {
  if (field === S.name) state.fill(0, base, base + S.seal)
  else if (field === S.seal) state[base + S.seal] = 0
  else if (field === S.tailName) state.fill(0, base + S.tailName, base + S.end)
  else state.fill(0, base + S.end, base + S.copies + recordsMax)
}

/** Delete a name. */
export function deleteName(state: Uint8Array, base: number, field: number): void {
  if (exists(state[base + field]!)) state[base + field] = Durability.deleted
}

/** Sync a tail file. A sync that fails marks its pages clean, so a later sync does not write them. */
export function syncTail(state: Uint8Array, base: number, coversZeroFill: boolean, fails: boolean): void {
  for (let record = 1; record <= recordsMax; record++) {
    const at = recordAt(base, record) + 1
    if (state[at] === RecordState.cached) state[at] = fails ? RecordState.unsyncable : RecordState.durable
  }
  if (fails) return
  state[base + S.durableMark] = state[base + S.mark]!
  if (coversZeroFill && state[base + S.zeroFill] === Durability.cached) {
    state[base + S.zeroFill] = Durability.durable
  }
}

export function clearRecords(state: Uint8Array, base: number): void {
  state.fill(0, base + S.records, base + S.durableMark + 1)
}

/** Something that a power loss may destroy. */
interface Unsynced {
  readonly what: string
  readonly slot: number
  readonly keep: (state: Uint8Array) => void
  readonly lose: (state: Uint8Array) => void
}

/** A transaction that nobody requested. A recycled file may have it in an old record. */
const staleTransaction = 7

/** List what a power loss may destroy of the bytes of slot `slot` and its tail. */
function unsyncedBytes(state: Uint8Array, slot: number): Unsynced[] {
  const base = slotAt(slot)
  const items: Unsynced[] = []
  const set = (field: number, value: number) => (next: Uint8Array) => {
    next[base + field] = value
  }
  if (exists(state[base + S.name]!) && state[base + S.content] === Content.cached) {
    const keep = set(S.content, Content.durable)
    items.push({ what: 'content of slot', slot, keep, lose: set(S.content, Content.torn) })
  }
  if (!isLinked(state, base) && state[base + S.tailName] !== Durability.deleted) return items
  for (let record = 1; record <= recordsMax; record++) {
    const at = recordAt(base, record)
    if (state[at + 1] !== RecordState.cached && state[at + 1] !== RecordState.unsyncable) continue
    const keep = set(at + 1 - base, RecordState.durable)
    items.push({ what: `record ${record} of tail`, slot, keep, lose: next => next.fill(0, at, at + 2) })
  }
  const mark = state[base + S.mark]!
  const durableMark = state[base + S.durableMark]!
  if (mark !== durableMark) {
    const keep = set(S.durableMark, mark)
    items.push({ what: 'mark of tail', slot, keep, lose: set(S.mark, durableMark) })
  }
  return items
}

/** List what a power loss may destroy of the names of slot `slot`, its tail, its seal and its end. */
function unsyncedNames(state: Uint8Array, slot: number, isRecycled: boolean): Unsynced[] {
  const base = slotAt(slot)
  const items: Unsynced[] = []
  if (isLinked(state, base) && state[base + S.zeroFill] === Durability.cached) {
    const fill = (next: Uint8Array) => {
      next[base + S.zeroFill] = Durability.durable
    }
    const lose = (next: Uint8Array) => {
      clearRecords(next, base)
      fill(next)
      if (!isRecycled) return
      next[recordAt(base, 1)] = staleTransaction
      next[recordAt(base, 1) + 1] = RecordState.durable
    }
    items.push({ what: 'zero-fill of tail', slot, keep: fill, lose })
  }
  for (const field of nameFields) {
    const name = state[base + field]!
    const clear = (next: Uint8Array) => clearFile(next, base, field)
    const restore = (next: Uint8Array) => {
      next[base + field] = Durability.durable
    }
    const what = { [S.name]: 'slot', [S.seal]: 'seal', [S.tailName]: 'name of tail', [S.end]: 'end' }[field]
    if (name === Durability.cached) items.push({ what, slot, keep: restore, lose: clear })
    else if (name === Durability.deleted) {
      items.push({ what: `deletion of ${what}`, slot, keep: clear, lose: restore })
    }
  }
  return items
}

/**
 * Call `found` for each state that a power loss may leave on disk. Every unsynced item survives or not, in every
 * combination. Losses that also destroy other items come last, so that these losses win. `isRecycled`: a tail whose
 * zero-fill is lost has an old record. Processes are not changed.
 */
export function forEachPowerLoss(
  state: Uint8Array,
  isRecycled: boolean,
  found: (state: Uint8Array, lost: string) => void,
): void {
  const slots = Array.from({ length: slotsMax }, (_, index) => index + 1)
  const items = [
    ...slots.flatMap(slot => unsyncedBytes(state, slot)),
    ...slots.flatMap(slot => unsyncedNames(state, slot, isRecycled)),
  ]
  for (let lost = 0; lost < 1 << items.length; lost++) {
    const next = state.slice()
    const names: string[] = []
    for (const [index, { what, slot, keep, lose }] of items.entries()) {
      if (((lost >> index) & 1) === 0) keep(next)
      else {
        lose(next)
        names.push(`${what} ${slot}`)
      }
    }
    for (const slot of slots) {
      if (next[slotAt(slot) + S.tailName] === Durability.gone) clearFile(next, slotAt(slot), S.tailName)
    }
    found(next, names.join(', ') || 'nothing')
  }
}

/**
 * If no power loss can come any more, replace everything unsynced by its synced form. Then states that differ only in
 * durability become one state.
 */
export function forgetDurability(state: Uint8Array, shared: number): void {
  if (state[shared + SharedField.powerLosses] !== 0) return
  syncFolder(state)
  for (let slot = 1; slot <= slotsMax; slot++) {
    const base = slotAt(slot)
    if (state[base + S.content] === Content.cached) state[base + S.content] = Content.durable
    if (state[base + S.zeroFill] === Durability.cached) state[base + S.zeroFill] = Durability.durable
    state[base + S.durableMark] = state[base + S.mark]!
    for (let record = 1; record <= recordsMax; record++) {
      const at = recordAt(base, record) + 1
      if (state[at] !== RecordState.absent) state[at] = RecordState.durable
    }
  }
}
