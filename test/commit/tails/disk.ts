/**
 * The files of a state, and what syncs and power losses do to them. `base` is the address of a slot block: in the root,
 * or in a copy of the root.
 */
import {
  Content,
  Durability,
  RecordState,
  recordsMax,
  SlotField as S,
  SharedField,
  slotAt,
  slotsMax,
  unlinked,
} from './layout.js'

/** Return the address of a record's transaction. Its state is in the next byte. `record`: from 1 on. */
export function recordAt(base: number, record: number): number {
  return base + S.records + 2 * (record - 1)
}

/** Return the transaction of a record. */
export function recordOf(state: Uint8Array, base: number, record: number): number {
  return state[recordAt(base, record)]!
}

/** Return the number of valid records of a tail: those before the first that is absent or does not fit. */
export function validRecords(state: Uint8Array, base: number, isSeeded: boolean): number {
  if (state[base + S.tailName] === Durability.absent) return 0
  if (isSeeded && state[base + S.tailSeed] !== state[base + S.maker]) return 0
  let valid = 0
  while (valid < recordsMax && state[recordAt(base, valid + 1) + 1] !== RecordState.absent) valid++
  return valid
}

/** Return the mark of a tail. A mark above the valid records does not count. */
export function markOf(state: Uint8Array, base: number, isSeeded: boolean): number {
  return Math.min(state[base + S.mark]!, validRecords(state, base, isSeeded))
}

/** Return the transaction of a counted record, from slot N+1 or from the tail of slot N; 0 if neither has it. */
export function countedRecord(state: Uint8Array, base: number, next: number, record: number): number {
  if (record > state[next + S.carriedFrom]!) return state[next + S.carried + record - 1]!
  return validRecords(state, base, false) < record ? 0 : recordOf(state, base, record)
}

/** Make the names in the folder of the log durable: slots and seals. */
export function syncLogFolder(state: Uint8Array): void {
  for (let slot = 1; slot <= slotsMax; slot++) {
    const base = slotAt(slot)
    if (state[base + S.name] === Durability.cached) state[base + S.name] = Durability.durable
    if (state[base + S.seal] === Durability.cached) state[base + S.seal] = Durability.durable
  }
}

/** Make the names of tails durable. */
export function syncTailFolder(state: Uint8Array): void {
  for (let slot = 1; slot <= slotsMax; slot++) {
    const base = slotAt(slot)
    if (state[base + S.tailName] === Durability.cached) state[base + S.tailName] = Durability.durable
  }
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

/**
 * List everything that a power loss may destroy. Losses that also destroy other items come last, so that these losses
 * win.
 */
function unsyncedItems(state: Uint8Array, isRecycled: boolean): Unsynced[] {
  const parts: Unsynced[] = []
  const containers: Unsynced[] = []
  for (let slot = 1; slot <= slotsMax; slot++) {
    const base = slotAt(slot)
    const set = (field: number, value: number) => (next: Uint8Array) => {
      next[base + field] = value
    }
    const tail = state[base + S.tailName]!
    if (state[base + S.content] === Content.cached) {
      const keep = set(S.content, Content.durable)
      parts.push({ what: 'content of slot', slot, keep, lose: set(S.content, Content.torn) })
    }
    if (state[base + S.seal] === Durability.cached) {
      parts.push({ what: 'seal', slot, keep: set(S.seal, Durability.durable), lose: set(S.seal, 0) })
    }
    if (tail !== Durability.absent) {
      for (let record = 1; record <= recordsMax; record++) {
        const at = recordAt(base, record)
        if (state[at + 1] !== RecordState.cached && state[at + 1] !== RecordState.unsyncable) continue
        const field = at - base
        const lose = (next: Uint8Array) => next.fill(0, at, at + 2)
        parts.push({
          what: `record ${record} of tail`,
          slot,
          keep: set(field + 1, RecordState.durable),
          lose,
        })
      }
      const mark = state[base + S.mark]!
      const durableMark = state[base + S.durableMark]!
      if (mark !== durableMark) {
        parts.push({
          what: 'mark of tail',
          slot,
          keep: set(S.durableMark, mark),
          lose: set(S.mark, durableMark),
        })
      }
    }
    if (tail !== Durability.absent && state[base + S.zeroFill] === Durability.cached) {
      const lose = (next: Uint8Array) => {
        clearRecords(next, base)
        next[base + S.zeroFill] = Durability.durable
        if (!isRecycled) return
        next[recordAt(base, 1)] = staleTransaction
        next[recordAt(base, 1) + 1] = RecordState.durable
      }
      containers.push({ what: 'zero-fill of tail', slot, keep: set(S.zeroFill, Durability.durable), lose })
    }
    if (tail === Durability.cached) {
      const lose = (next: Uint8Array) => next.fill(0, base + S.tailName, base + S.durableMark + 1)
      containers.push({ what: 'name of tail', slot, keep: set(S.tailName, Durability.durable), lose })
    }
    if (state[base + S.name] === Durability.cached) {
      const lose = (next: Uint8Array) => next.fill(0, base, base + S.seal)
      containers.push({ what: 'slot', slot, keep: set(S.name, Durability.durable), lose })
    }
  }
  return [...parts, ...containers]
}

/**
 * Call `found` for each state that a power loss may leave on disk. Every unsynced item survives or not, in every
 * combination. `isRecycled`: a tail whose zero-fill is lost has an old record. Processes are not changed.
 */
export function forEachPowerLoss(
  state: Uint8Array,
  isRecycled: boolean,
  found: (state: Uint8Array, lost: string) => void,
): void {
  const items = unsyncedItems(state, isRecycled)
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
    found(next, names.join(', ') || 'nothing')
  }
}

/**
 * If no power loss can come any more, replace everything unsynced by its synced form. Then states that differ only in
 * durability become one state.
 */
export function forgetDurability(state: Uint8Array, shared: number): void {
  if (state[shared + SharedField.powerLosses] !== 0) return
  syncLogFolder(state)
  syncTailFolder(state)
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

/** Return whether the tail of a slot has a name. */
export function isLinked(state: Uint8Array, base: number): boolean {
  const name = state[base + S.tailName]
  return name !== Durability.absent && name !== unlinked
}
