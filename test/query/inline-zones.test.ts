/** What is learnt of rows that ride in slots changes how long a filter takes, never what it finds or that it fails. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Row, type Schema } from '../../src/index.js'

const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: true },
    { name: 'word', type: { kind: 'utf8', large: false }, nullable: true },
    { name: 'size', type: { kind: 'float', bits: 64 }, nullable: true },
  ],
}

/** A table of one commit for each of `commits`, which nobody compacts. */
async function tableOf(commits: readonly (readonly Row[])[]) {
  const ns = await connect('memory://', { maintenance: { compact: false } })
  const table = await ns.createTable('t', [], { schema })
  for (const rows of commits) await table.add(rows)
  return table
}

const rows = fc.record({
  id: fc.option(fc.integer({ min: 0, max: 9 }).map(BigInt)),
  word: fc.option(fc.constantFrom('', 'a', 'ab', 'b', 'ü')),
  size: fc.option(fc.constantFrom(-0, 0, 1.5, Number.NaN, Number.POSITIVE_INFINITY)),
})

const conditions = fc.oneof(
  fc
    .tuple(fc.constantFrom('=', '<>', '<', '>='), fc.integer({ min: -1, max: 10 }))
    .map(([op, value]) => `id ${op} ${value}`),
  fc.constantFrom(
    'id IN (2, 3)',
    'id IS NULL',
    "word LIKE 'a%'",
    "word > 'a'",
    'size >= 0',
    'size > 1',
    'size IS NOT NULL',
    'id BETWEEN 3 AND 5',
  ),
)

const filters = fc.oneof(
  conditions,
  fc.tuple(conditions, fc.constantFrom('AND', 'OR'), conditions).map(parts => parts.join(' ')),
  conditions.map(condition => `NOT (${condition})`),
)

test('a filter finds the same rows each time, and a delete by it deletes these', async () => {
  const commits = fc.array(fc.array(rows, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(commits, fc.array(filters, { minLength: 1, maxLength: 3 }), async (brought, texts) => {
      const table = await tableOf(brought)
      const idsOf = async (text?: string) => {
        const search = table.query().select(['_rowid']).withRowId()
        const found = await (text === undefined ? search : search.where(text)).toArray()
        return found.map(({ _rowid }) => _rowid)
      }
      for (const text of texts) {
        const first = await idsOf(text)
        for (let time = 0; time < 2; time++) {
          expect(await idsOf(text)).toEqual(first)
          expect(await table.countRows(text)).toBe(first.length)
        }
        const others = (await idsOf()).filter(id => !first.includes(id))
        await table.delete(text)
        expect(await idsOf()).toEqual(others)
      }
    }),
    { numRuns: 40 },
  )
})

test('from the second filter on, only those small commits are read that may have matching rows', async () => {
  const table = await tableOf(
    Array.from({ length: 40 }, (_, i) => [{ id: BigInt(i), word: `${i}`, size: i }]),
  )
  const looked = async (filter: string) => {
    const text = await table.query().where(filter).analyze()
    return /fragments=(\d+)/.exec(text)?.[1]
  }
  for (const [range, matches] of [
    ['id > 6 AND id < 8', '1'],
    ["word > '6' AND word <= '7'", '1'],
    ['size > 6 AND size < 9', '2'],
  ] as const) {
    expect(await looked(range)).toBe('40')
    expect(await looked(range)).toBe(matches)
  }
})

test('a filter by value reads only those small commits that have matching rows', async () => {
  const table = await tableOf(
    Array.from({ length: 40 }, (_, i) => [{ id: BigInt(i), word: `${i}`, size: i % 20 }]),
  )
  const looked = async (filter: string) => {
    const text = await table.query().where(filter).analyze()
    return /fragments=(\d+)/.exec(text)?.[1]
  }
  expect(await looked('id = 7')).toBe('1')
  expect(await looked("word IN ('7', '8', 'none')")).toBe('2')
  expect(await looked('size = 7 AND id > 1')).toBe('2')
  expect(await table.query().where('id = 7').explain()).toContain('[id = 7]@inline rows')
})

test('a filter that fails for a row fails every time', async () => {
  // What is NULL AND an error is an error; but no row of these can pass.
  const table = await tableOf([[{ id: 9n, word: 'a', size: null }]])
  for (let time = 0; time < 4; time++) {
    await expect(table.countRows('size > 1 AND id * 4611686018427387904 > 0')).rejects.toMatchObject({
      code: 13,
    })
    expect(await table.countRows('size > 1')).toBe(0)
  }
})
