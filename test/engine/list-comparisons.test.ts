/** Lists beside lists, asked as users do; by random ones, beside a comparison written element by element. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Namespace, type Table } from '../../src/index.js'
import { parseArrowType } from '../../src/sql/values/arrow-type.js'

let ns: Namespace
beforeAll(async () => {
  ns = await connect('memory://', { maintenance: { compact: false } })
})
afterAll(() => ns.close())

const column = (name: string, type: string) => ({ name, type: parseArrowType(type)!, nullable: true })
const idsIn = async (table: Table, where: string, parameters: readonly never[] = []) => {
  const rows = await table.query().where(where, parameters).select(['id']).limit(1000).toArray()
  return rows.map(({ id }) => id as number).sort((a, b) => a - b)
}

test('a list column is compared with constants', async () => {
  const schema = {
    fields: [
      column('id', 'Int32'),
      column('labels', 'List(Utf8)'),
      column('d', 'List(Decimal128(30, 2))'),
      column('v', 'FixedSizeList(2, Float32)'),
      column('day', 'List(Date32)'),
      column('n', 'List(List(Int64))'),
    ],
  }
  const rows = [
    { id: 1, labels: ['a', 'b'], d: ['0.10'], v: [0.1, 2], day: [new Date(0)], n: [[1, 2], [3]] },
    { id: 2, labels: ['a'], d: ['0.20', '1.00'], v: [1, 2], day: [], n: [] },
    { id: 3, labels: ['a', null], d: [], v: [0.1, 3], day: null, n: [[1, 2], null] },
    { id: 4, labels: null, d: null, v: null, day: null, n: null },
    { id: 5, labels: [], d: ['18446744073709551617.00'], v: [0, 0], day: [null], n: [[]] },
  ]
  const table = await ns.createTable('constants', rows, { schema })
  const cases: readonly (readonly [string, readonly number[]])[] = [
    ["labels = ['a', 'b']", [1]],
    ["labels <> ['a', 'b']", [2, 3, 5]],
    ["labels = ['a', NULL]", [3]],
    ["labels < ['a', 'b']", [2, 5]],
    ["labels > ['a', 'b']", [3]],
    ["['a'] >= labels", [2, 5]],
    ["labels IN (['a'], ['a', 'b'], ['z'])", [1, 2]],
    ["labels NOT IN (['a'], ['a', 'b'])", [3, 5]],
    ["labels BETWEEN ['a'] AND ['a', 'b']", [1, 2]],
    ["labels IS DISTINCT FROM ['a']", [1, 3, 4, 5]],
    ['labels = []', [5]],
    ['d = [0.1]', [1]],
    ['d = [0.20, 1]', [2]],
    ['d = [18446744073709551617]', [5]],
    ['d = [18446744073709551617.001]', []],
    ['d <> [0.101]', [1, 2, 3, 5]],
    ['d < [0.101]', [1, 3]],
    ['v = [0.1, 2]', [1]],
    ['v > [0.1, 2.5]', [2, 3]],
    ["day = ['1970-01-01']", [1]],
    ['n = [[1, 2], [3]]', [1]],
    ['n > [[1, 2], [3]]', [3]],
    ['labels = labels', [1, 2, 3, 5]],
    ['d = v', []],
  ]
  for (const [where, expected] of cases) {
    expect([where, await idsIn(table, where)]).toEqual([where, expected])
    expect([where, await idsIn(table, `NOT NOT (${where})`)]).toEqual([where, expected])
  }
  expect(await idsIn(table, 'labels = ?', [['a', 'b']] as never)).toEqual([1])
  await expect(idsIn(table, 'labels = [1]')).rejects.toMatchObject({ code: 20 })
  await expect(idsIn(table, "labels = 'a'")).rejects.toMatchObject({ code: 20 })
})

type Item = number | null
type List = readonly Item[] | null

/** NULL inside of a list is the greatest value; a longer list is greater than its beginning. */
function orderOf(a: readonly Item[], b: readonly Item[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [x, y] = [a[i] ?? Number.POSITIVE_INFINITY, b[i] ?? Number.POSITIVE_INFINITY]
    if (x !== y) return x < y ? -1 : 1
  }
  return Math.sign(a.length - b.length)
}

test('lists of any length compare element by element, then by length', async () => {
  const item = fc.constantFrom<Item>(0, 1, 2, null)
  const short = fc.array(item, { maxLength: 4 })
  const long = fc
    .tuple(fc.integer({ min: 0, max: 40 }), short)
    .map(([n, end]) => [...Array<Item>(n).fill(1), ...end])
  const list = fc.option(fc.oneof(short, long))
  const pairs = fc.sample(fc.tuple(list, list), { numRuns: 300, seed: 3 }) as [List, List][]
  const schema = { fields: [column('id', 'Int32'), column('a', 'List(Int8)'), column('b', 'List(Float64)')] }
  const rows = pairs.map(([a, b], id) => ({ id, a, b }))
  const table = await ns.createTable('random', rows.slice(0, 100), { schema })
  await table.add(rows.slice(100))
  const holds: Readonly<Record<string, (order: number) => boolean>> = {
    '=': order => order === 0,
    '<>': order => order !== 0,
    '<': order => order < 0,
    '<=': order => order <= 0,
    '>': order => order > 0,
    '>=': order => order >= 0,
  }
  const constants = pairs.slice(0, 12).flatMap(([a]) => (a === null ? [] : [a]))
  for (const [op, isTrue] of Object.entries(holds)) {
    const matching = (test: (a: List, b: List) => number | null) =>
      rows.flatMap(({ id, a, b }) => {
        const order = test(a, b)
        return order !== null && isTrue(order) ? [id] : []
      })
    const both = (a: List, b: List) => (a === null || b === null ? null : orderOf(a, b))
    expect(await idsIn(table, `a ${op} b`)).toEqual(matching(both))
    for (const constant of constants) {
      const text = `[${constant.map(String).join(', ')}]`
      expect(await idsIn(table, `b ${op} ${text}`)).toEqual(matching((_, b) => both(b, constant)))
    }
  }
})

test('a list is never a member if no element can equal it', async () => {
  const schema = { fields: [column('id', 'Int64'), column('l', 'List(Int64)'), column('f', 'Float64')] }
  const rows = [{ id: 1n, l: [1n, 2n ** 53n], f: 1.5 }]
  const table = await ns.createTable('members', rows, { schema })
  const cases: readonly (readonly [string, boolean | null])[] = [
    ['array_has(l, 1.5)', false],
    ['NOT array_has(l, 1.5)', true],
    ['array_has(l, NULL)', null],
    ['array_has(l, 9007199254740993)', false],
    ['array_has(l, 99999999999999999999)', false],
    ['array_has(l, 9007199254740992)', true],
    ['array_has_any(l, [9007199254740993, 0.5])', false],
    ['array_has_any(l, [9007199254740992, 0.5])', true],
    ['array_has_all(l, [1, 1.5])', false],
    ['array_has_all([1, 9007199254740992, 0.5], l)', true],
    ['array_position(l, 1.5) IS NULL', true],
    ['array_has([1.5, 2], id)', false],
    ['array_has([1, 1.5], f)', true],
  ]
  for (const [text, expected] of cases) {
    const found = (await table.query().select({ x: text }).toArray()) as { x: unknown }[]
    expect([text, found[0]!.x]).toEqual([text, expected])
  }
  await expect(idsIn(table, 'array_has(l, f)')).rejects.toMatchObject({ code: 20 })
})
