import { expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Pacer } from '../../src/primitives/pacer.js'
import type { RowHits } from '../../src/query/hits.js'
import type { RowSource } from '../../src/query/source.js'
import { planUpdate, updatedValues } from '../../src/write/update.js'

const float64 = { kind: 'float', bits: 64 } as const
const schema = { id: 1, fields: [{ id: 0, name: 'n', type: float64, nullable: true }] }

test('an update computed again, on a stored manifest, sets the same columns', async () => {
  const request = { id: ['t'], updates: [['n', 'n + 1']] } as const
  const { assignments } = planUpdate(request as never, schema, systemClock)
  const values = Float64Array.of(15)
  const plain = { length: 1, nullCount: 0, validity: null, offsets: null, children: [], dictionary: null }
  const old: Batch = { schema, length: 1, columns: [{ type: float64, values, ...plain }] }
  const source = { batch: async () => old } as unknown as RowSource
  for (const same of [schema, structuredClone(schema)]) {
    const { columns } = await updatedValues(same, assignments)(
      source,
      {} as RowHits,
      new Pacer(),
      Float64Array.of(0),
    )
    expect(columns[0]!.values![0]).toBe(16)
  }
})

test('an expression that depends on other rows is computed again each time', () => {
  const settled = (text: string) =>
    planUpdate({ id: ['t'], updates: [['n', text]] } as never, schema, systemClock)
  expect(settled('_rowid + n').isOfRow).toBe(true)
  expect(settled('n + _rowoffset').isOfRow).toBe(false)
})
