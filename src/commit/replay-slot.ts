/** Checks that slots are consecutive, and applies their entries to the state. */
import { corrupted, ErrorCode, SheafError } from '../errors.js'
import { crcHex } from '../primitives/checksum.js'
import type { Entry, LogEnd, Machine, SlotHeader } from './machine.js'
import type { Slot } from './slot.js'

/** Check that a slot follows slot `head`. Throws Internal ("corrupted") otherwise. */
export function checkSuccessor<S>({ header }: Slot, { head, crc, ts }: LogEnd<S>): void {
  if (Number.parseInt(header.prev, 16) !== crc) {
    throw corrupted(
      `slot ${header.slot} does not follow slot ${head}: it names ${header.prev} as the checksum of ` +
        `its predecessor, but slot ${head} has the checksum ${crcHex(crc)}`,
      { hint: 'part of the log was lost or comes from another copy of the root; restore a backup' },
    )
  }
  if (header.ts < ts) {
    throw corrupted(
      `slot ${header.slot} has the time ${header.ts}, which is before the time ${ts} of slot ${head}`,
    )
  }
}

/**
 * Apply entry `index` of a slot, and return the new state. Throws Internal ("corrupted") for an invalid entry, and
 * Unsupported for an entry that only a newer Sheaf supports.
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
