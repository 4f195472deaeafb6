/**
 * Zones of stretches of rows, which data files keep of columns whose values lie together: of a key that rises with its rows, most
 * filters need one stretch. Layout: docs/format.md, "Zones of stretches".
 */
import type { DataType } from '../../arrow/types.js'
import type { Scalar } from '../values/scalar.js'
import { joinZones, readZone, writeZone, type Zone } from './zone.js'

/** As a file has them: least, greatest and nulls of one stretch after the other. */
export function writeStretches(zones: readonly Zone[]): unknown[] {
  return zones.flatMap(writeZone)
}

/** Between which values the stretches of a batch lie, one after the other, and all of its rows. */
export interface StretchZones {
  readonly each: readonly Zone[]
  readonly all: Zone
}

const known = new WeakMap<readonly unknown[], StretchZones>()

/** The zones of a column of type `type`, which has zones, in a batch with rows. Throws corrupted where one of the records is none. */
export function readStretches(records: readonly unknown[], type: DataType): StretchZones {
  let zones = known.get(records)
  if (zones === undefined) {
    const each = Array.from({ length: records.length / 3 }, (_, i) =>
      readZone(records.slice(3 * i, 3 * i + 3), type),
    )
    zones = { each, all: each.reduce(joinZones) }
    known.set(records, zones)
  }
  return zones
}

/**
 * Whether it pays to keep the zones of a file's stretches: they differ, and on average one spans no more than half of what all of
 * them do.
 */
export function tellApart(zones: readonly Zone[]): boolean {
  const bounds = zones.map(writeZone)
  if (!bounds.some(([least, greatest]) => least !== bounds[0]![0] || greatest !== bounds[0]![1])) return false
  const placeOf = placesBetween(zones)
  const ends = zones.map(({ least, greatest }) =>
    least === null ? null : [placeOf(least), placeOf(greatest)],
  )
  const places = ends.flatMap(pair => pair ?? []).filter(Number.isFinite)
  const all = Math.max(...places) - Math.min(...places)
  let spans = 0
  for (const pair of ends) {
    if (pair === null) continue
    const span = pair[1]! - pair[0]!
    // Beside NaN, the infinite, and where there is no upper bound, nothing is small.
    spans += span === 0 ? 0 : span < all ? span / all : 1
  }
  return spans <= zones.length / 2
}

/** Where a bound lies among the others, as a number: of texts and bytes by those of the bytes that are not the same in all. */
function placesBetween(zones: readonly Zone[]): (bound: Scalar) => number {
  const texts = zones
    .flatMap(({ least, greatest }) => [least, greatest])
    .filter(bound => typeof bound === 'string' || bound instanceof Uint8Array)
    .map(bound => Buffer.from(bound as Uint8Array))
    .sort(Buffer.compare)
  const [first, last] = [texts[0], texts.at(-1)]
  let same = 0
  while (first !== undefined && same < first.length && first[same] === last![same]) same++
  return bound => {
    if (bound === null) return Number.POSITIVE_INFINITY
    if (typeof bound !== 'string' && !(bound instanceof Uint8Array)) return Number(bound)
    const head = Buffer.alloc(6)
    Buffer.from(bound as Uint8Array).copy(head, 0, same)
    return head.readUIntBE(0, 6)
  }
}
