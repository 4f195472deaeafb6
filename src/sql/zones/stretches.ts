/**
 * Min/max statistics of stretches, which are blocks of consecutive rows. Data files store them for columns whose values
 * are clustered. If the values of a column increase with the rows, most filters on the column read only one stretch.
 * Format: docs/format.md, "Zones of stretches".
 */
import type { DataType } from '../../arrow/types.js'
import type { Scalar } from '../values/scalar.js'
import { joinZones, readZone, writeZone, type Zone } from './zone.js'

/**
 * Return the statistics in the form that a file stores: minimum, maximum and null count of each stretch, in one array.
 */
export function writeStretches(zones: readonly Zone[]): unknown[] {
  return zones.flatMap(writeZone)
}

/** The statistics of the stretches of a batch, in order (`each`), and of the whole batch (`all`). */
export interface StretchZones {
  readonly each: readonly Zone[]
  readonly all: Zone
}

/**
 * Cache of parsed statistics, by their stored form. The keys are weak, because the stored form belongs to the cached
 * metadata of a file, and the cache may evict it.
 */
const known = new WeakMap<readonly unknown[], StretchZones>()

/**
 * Parse the statistics of a column in a batch that is not empty. `records`: their stored form. `type`: the type of the
 * column, which must have zone maps. Throws `Internal` if a record is invalid.
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
 * Return whether a file should store the statistics of its stretches. It should if the stretches have different bounds,
 * and a stretch on average covers at most half of the range of the whole file.
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
    // A stretch counts as 1 if it covers the whole range, or if its span is not a finite number.
    spans += span === 0 ? 0 : span < all ? span / all : 1
  }
  return spans <= zones.length / 2
}

/**
 * Return a function that maps a bound to a number, so that the distances of bounds can be compared. Strings and byte
 * strings are mapped by the six bytes after the prefix that all bounds share.
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
