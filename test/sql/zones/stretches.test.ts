/** Which columns' stretches have zones in a file, and that they hold all rows, however a batch is cut into pieces. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stretchRows } from '../../../src/arrow/file-layout.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { sliceBatch, sliceColumn } from '../../../src/arrow/slice.js'
import type { DataType } from '../../../src/arrow/types.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { readStretches, tellApart, writeStretches } from '../../../src/sql/zones/stretches.js'
import { writeZone, type Zone, zoneOf } from '../../../src/sql/zones/zone.js'
import { ZoneCollector } from '../../../src/write/zone-collector.js'

const utf8: DataType = { kind: 'utf8', large: false }
const types: Readonly<Record<string, DataType>> = {
  id: { kind: 'int', bits: 64, signed: true },
  text: utf8,
  number: { kind: 'float', bits: 64 },
  day: { kind: 'dictionary', index: { kind: 'int', bits: 16, signed: true }, value: utf8, ordered: false },
  all: { kind: 'dictionary', index: { kind: 'int', bits: 32, signed: true }, value: utf8, ordered: false },
  mixed: { kind: 'int', bits: 32, signed: true },
  list: { kind: 'list', large: false, child: { name: 'item', type: utf8, nullable: true } },
}
const schema = {
  fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })),
}
const rows = 33_000
const batch = rowsToBatch(
  Array.from({ length: rows }, (_, i) => ({
    id: i,
    text: i % 7 === 2 ? null : `${i > 9000 ? 'b' : 'a'} text that is longer than any bound of a zone, ${i}`,
    number: i === 9004 ? Number.NaN : -i,
    day: `day ${String(Math.floor(i / 100)).padStart(3, '0')}`,
    all: `one of many ${String(i).padStart(5, '0')}`,
    mixed: (i * 7919) % rows,
    list: ['a'],
  })),
  schema,
)

test('zone maps of stretches are those of their rows, for any pieces of a batch', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 1, max: rows - 1 }), { maxLength: 5 }), {
        minLength: 1,
        maxLength: 2,
      }),
      async batches => {
        const zones = new ZoneCollector(schema)
        const pacer = new Pacer()
        for (const cuts of batches) {
          const ends = [...new Set([0, ...cuts, rows])].sort((a, b) => a - b)
          await zones.add(
            ends.slice(1).map((end, i) => sliceBatch(batch, ends[i]!, end - ends[i]!)),
            pacer,
          )
        }
        const kept = await zones.stretches(pacer)
        expect(kept.map(([column]) => schema.fields[column]!.name)).toEqual(['id', 'text', 'number', 'day'])
        for (const [column, records] of kept) {
          const expected = [0, 1, 2, 3, 4].map(at =>
            zoneOf(
              sliceColumn(
                batch.columns[column]!,
                at * stretchRows,
                Math.min(stretchRows, rows - at * stretchRows),
              ),
            ),
          )
          expect(records).toEqual(batches.map(() => writeStretches(expected as Zone[])))
          const { type } = schema.fields[column]!
          expect(readStretches(JSON.parse(JSON.stringify(records[0])), type)).toEqual({
            each: expected,
            all: zoneOf(batch.columns[column]!),
          })
          expect(zones.records().get(column)).toEqual(
            writeZone(zoneOf(batch.columns[column]!)!).with(
              2,
              batches.length * batch.columns[column]!.nullCount,
            ),
          )
        }
      },
    ),
    { numRuns: 20 },
  ))

const zone = (least: Zone['least'], greatest = least, nulls = 0): Zone => ({ least, greatest, nulls })

test.each<[string, boolean, readonly Zone[]]>([
  ['there is one', false, [zone(1n, 5n)]],
  ['they follow each other', true, [zone(0n, 9n), zone(10n, 19n)]],
  ['all span the same', false, [zone(0n, 9n), zone(0n, 9n), zone(0n, 9n)]],
  ['all span about the same', false, [zone(0n, 90n), zone(3n, 97n), zone(1n, 99n)]],
  ['few span more than others', true, [zone(0n), zone(0n), zone(0n, 1n), zone(0n)]],
  ['some have no value', true, [zone(0n, 9n), zone(null, null, 8192)]],
  ['none has a value', false, [zone(null, null, 8192), zone(null, null, 3)]],
  [
    'texts begin alike and follow each other',
    true,
    [zone('item 001', 'item 040'), zone('item 041', 'item 099')],
  ],
  ['texts do not', false, [zone('item 001', 'item 095'), zone('item 002', 'item 099')]],
  [
    'bytes follow each other',
    true,
    [zone(Uint8Array.of(7, 1), Uint8Array.of(7, 2)), zone(Uint8Array.of(7, 3))],
  ],
  ['most end with NaN', false, [zone(0, Number.NaN), zone(1, Number.NaN), zone(2, 3)]],
  ['few do', true, [zone(0, 0.5), zone(1, Number.NaN), zone(2, 3)]],
  ['most have no upper bound', false, [zone('a', null), zone('b', null), zone('c')]],
  ['false comes before true', true, [zone(false), zone(false, true), zone(true)]],
])('where %s: %s', (_, kept, zones) => {
  expect(tellApart(zones)).toBe(kept)
})

test.each([[[3, 2, 'x']], [['a', 'b', 0]], [[null, 2, 0]]])('%j is not a zone map of numbers', records => {
  const read = () => readStretches([1, 2, 0, ...records], types.id!)
  expect(read).toThrow(expect.objectContaining({ code: 18 }))
})
