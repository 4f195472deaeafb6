/** Collects min/max statistics of the columns of a data file: for all rows together, and for each stretch of rows. */
import type { Batch } from '../arrow/column.js'
import { stretchRows, type ZonesEntry } from '../arrow/file-layout.js'
import { sliceColumn } from '../arrow/slice.js'
import type { Schema } from '../arrow/types.js'
import type { Pacer } from '../primitives/pacer.js'
import { tellApart, writeStretches } from '../sql/zones/stretches.js'
import { hasZones, joinZones, writeZone, type Zone, type ZoneRecord, zoneOf } from '../sql/zones/zone.js'

/** Maximum number of columns with statistics. Columns are chosen in schema order, if their type allows statistics. */
const maxZones = 64

/** A collector for one file. The caller calls `add` for each record batch, then `records` and `stretches`. */
export class ZoneCollector {
  readonly #columns: readonly number[]
  /** By column number: the statistics of all rows. */
  readonly #zones = new Map<number, Zone>()
  /** By column number: for each record batch, the statistics of its stretches. */
  readonly #stretches: Map<number, Zone[][]>

  constructor({ fields }: Schema) {
    this.#columns = [...fields.keys()].filter(i => hasZones(fields[i]!.type)).slice(0, maxZones)
    this.#stretches = new Map(this.#columns.map(column => [column, []]))
  }

  /** Add the next record batch. `pieces`: its rows, in one or more batches. */
  async add(pieces: readonly Batch[], pacer: Pacer): Promise<void> {
    for (const number of this.#columns) {
      const stretches: Zone[] = []
      let row = 0
      for (const { columns } of pieces) {
        const column = columns[number]!
        // Statistics of a stretch read the whole dictionary, so columns with large dictionaries have no statistics of
        // stretches.
        if ((column.dictionary?.length ?? 0) > stretchRows) this.#stretches.delete(number)
        const rows = this.#stretches.has(number) ? stretchRows : Number.POSITIVE_INFINITY
        for (let from = 0, to: number; from < column.length; from = to) {
          to = Math.min(column.length, from + rows - (row % rows))
          const zone = zoneOf(sliceColumn(column, from, to - from))!
          const at = Math.floor(row / stretchRows)
          stretches[at] = joined(stretches[at], zone)
          this.#zones.set(number, joined(this.#zones.get(number), zone))
          row += to - from
        }
        await pacer.turn()
      }
      this.#stretches.get(number)?.push(stretches)
    }
  }

  /** Return, by column number, the statistics of all rows in the form in which a slot stores them. */
  records(): ReadonlyMap<number, ZoneRecord> {
    return new Map([...this.#zones].map(([column, zone]) => [column, writeZone(zone)]))
  }

  /**
   * Return the statistics of stretches in the form in which the file stores them. Omits columns whose stretches have
   * too similar statistics, because a filter could not skip stretches by them.
   */
  async stretches(pacer: Pacer): Promise<readonly ZonesEntry[]> {
    const entries: ZonesEntry[] = []
    for (const [column, batches] of this.#stretches) {
      if (tellApart(batches.flat())) entries.push([column, batches.map(writeStretches)])
      await pacer.turn()
    }
    return entries
  }
}

function joined(before: Zone | undefined, zone: Zone): Zone {
  return before === undefined ? zone : joinZones(before, zone)
}
