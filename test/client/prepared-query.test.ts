/** A prepared query returns the rows that plain JavaScript selects, whatever the styles of its parameters. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Search, sql } from '../../src/index.js'

const rows = Array.from({ length: 12 }, (_, id) => ({ id, a: id % 3, b: id % 4 }))

/** A condition `column op value`: its value comes with the call (`open`), or is fixed. */
const conditions = fc.array(
  fc.record({
    column: fc.constantFrom('a', 'b', 'id'),
    op: fc.constantFrom('=', '<>', '<', '>='),
    value: fc.integer({ min: 0, max: 6 }),
    fixed: fc.constantFrom(null, null, '?', '$1', ':where_1', 'sql'),
  }),
  { minLength: 1, maxLength: 4 },
)

const holds: Record<string, (x: number, y: number) => boolean> = {
  '=': (x, y) => x === y,
  '<>': (x, y) => x !== y,
  '<': (x, y) => x < y,
  '>=': (x, y) => x >= y,
}

test('several conditions with and without values', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', rows)
  await fc.assert(
    fc.asyncProperty(conditions, fc.constantFrom('?', '$', ':'), async (all, style) => {
      let query: Search<object> = table.query().select(['id'])
      const values: Record<string, number> = {}
      let open = 0
      for (const { column, op, value, fixed } of all) {
        if (fixed === null) {
          // Names of the same form as those that fixed values get.
          const name = style === '?' ? '?' : style === '$' ? `$${open + 1}` : `:where_${open + 1}`
          values[`where_${++open}`] = value
          query = query.where(`${column} ${op} ${name}`)
        } else if (fixed === 'sql') {
          query = query.where(sql`${sql.name(column)} = ${value}`)
        } else {
          query = query.where(`${column} ${op} ${fixed}`, fixed === ':where_1' ? { where_1: value } : [value])
        }
      }
      const isNamed = style === ':' && open > 0
      const found = await query.prepare().all(isNamed ? values : Object.values(values))
      const expected = rows.filter(row =>
        all.every(({ column, op, value, fixed }) =>
          holds[fixed === 'sql' ? '=' : op]!(row[column as 'id'], value),
        ),
      )
      expect(found).toEqual(expected.map(({ id }) => ({ id })))
    }),
    { numRuns: 150 },
  )
})
