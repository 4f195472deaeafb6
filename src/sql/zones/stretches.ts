/**
 * Min/max statistics for blocks of rows (stretches). Data files store them for columns whose values are clustered. If a
 * key increases with its rows, most filters need only one stretch. Format: docs/format.md, "Zones of stretches".
 */
import type { DataType } from '../../arrow/types.js'
import type { Scalar } from '../values/scalar.js'
import { joinZones, readZone, writeZone, type Zone } from './zone.js'

/** Write statistics as a file stores them: least, greatest and nulls of one stretch after the other. */
export function writeStretches(zones: readonly Zone[]): unknown[] {
  return zones.flatMap(writeZone)
}

/** Statistics of each stretch of a batch in order, and of all its rows. */
export interface StretchZones {
  readonly each: readonly Zone[]
  readonly all: Zone
}

/** Parsed statistics by their records, weakly: records belong to the metadata of a file, which may be evicted. */
const known = new WeakMap<readonly unknown[], StretchZones>()

/**
 * Read the statistics of a column of type `type` (which must have zones) in a batch with rows. Throws `Internal` if a
 * record is invalid.
 */
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
 * Return whether storing the statistics of a file's stretches pays off: they differ, and on average a stretch spans at
 * most half of the whole range.
 */
export function tellApart(zones: readonly Zone[]): boolean {
  const bounds = zones.map(writeZone)
  if (!bounds.some(([least, greatest]) => least !== bounds[0]![0] || greatest !== bounds[0]![1])) return false
  const positionOf = positionsBetween(zones)
  const ends = zones.map(({ least, greatest }) =>
    least === null ? null : [positionOf(least), positionOf(greatest)],
  )
  const positions = ends.flatMap(pair => pair ?? []).filter(Number.isFinite)
  const all = Math.max(...positions) - Math.min(...positions)
  let spans = 0
  for (const pair of ends) {
    if (pair === null) continue
    const span = pair[1]! - pair[0]!
    // A stretch whose span is not less than the whole counts as 1. This includes NaN, infinite and missing bounds.
    spans += span === 0 ? 0 : span < all ? span / all : 1
  }
  return spans <= zones.length / 2
}

/**
 * Return a function that maps a bound to a number among the other bounds. Strings and bytes are mapped by the bytes
 * after their common prefix.
 */
function positionsBetween(zones: readonly Zone[]): (bound: Scalar) => number {
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
