/** The steps of replay: a slot must follow its predecessor, and its entries are applied one by one. */
import { corrupted, ErrorCode, SheafError } from '../errors.js'
import { crcHex } from '../primitives/checksum.js'
import type { Entry, LogEnd, Machine, SlotHeader } from './machine.js'
import type { Slot } from './slot.js'

/** Check that a slot follows slot `head`. Throws Internal ("corrupted") otherwise. */
export function checkSuccessor<S>({ header }: Slot, { head, crc, ts }: LogEnd<S>): void {
  if (Number.parseInt(header.prev, 16) !== crc) {
    throw corrupted(
      `slot ${header.slot} does not follow slot ${head}: it was written after one with checksum ` +
        `${header.prev}, slot ${head} has ${crcHex(crc)}`,
      { hint: 'part of the log was lost or comes from another copy of the root; restore a backup' },
    )
  }
  if (header.ts < ts) {
    throw corrupted(`slot ${header.slot} is dated ${header.ts}, before slot ${head} (${ts})`)
  }
}

/**
 * Return the state after entry `index` of a slot. Throws Internal ("corrupted") for an entry that is not valid, and
 * Unsupported for one that only a newer build knows.
 */
export function applyEntry<S>(
  machine: Machine<S>,
  state: S,
  entry: Entry,
  { slot, ts }: SlotHeader,
  index: number,
): S {
  try {
    return machine.apply(state, entry, { slot, entry: index, ts })
  } catch (cause) {
    if (cause instanceof SheafError && cause.code === ErrorCode.Unsupported) throw cause
    const what = cause instanceof Error ? cause.message : String(cause)
    throw corrupted(`slot ${slot}, entry ${index} cannot be applied: ${what}`, { cause })
  }
}
