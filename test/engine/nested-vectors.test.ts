/** Vectors inside of structs are searched and indexed as those of columns are: both give the same rows. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect, type DataType, type Namespace, type Table } from '../../src/index.js'
import { vectorKinds } from '../../src/indexes/vector/kind.js'
import { randomFrom } from '../support/clock.js'
import { failure } from '../support/failure.js'

const dim = 8
const float = (bits: 16 | 32 | 64): DataType => ({ kind: 'float', bits })
const vectorOf = (element: DataType): DataType => ({
  kind: 'fixed_size_list',
  size: dim,
  child: { name: 'item', type: element, nullable: true },
})
const structOf = (name: string, type: DataType): DataType => ({
  kind: 'struct',
  children: [
    { name: 'note', type: { kind: 'utf8', large: false }, nullable: true },
    { name, type, nullable: true },
  ],
})
const elements: Readonly<Record<string, DataType>> = {
  float16: float(16),
  float32: float(32),
  float64: float(64),
  uint8: { kind: 'int', bits: 8, signed: false },
}

let ns: Namespace
beforeEach(async () => {
  ns = await connect('memory://', { maintenance: { compact: false } })
})
afterEach(() => ns.close())

/** The same vector in a column `v`, in `image.embedding` and two structs down; every seventh row has none, by one way or another. */
function rowsOf(random: () => number, first: number, count: number) {
  return Array.from({ length: count }, (_, i) => {
    const id = first + i
    const v = id % 7 === 3 ? null : Array.from({ length: dim }, () => Math.floor(random() * 200))
    const image = v === null && id % 2 === 0 ? null : { note: `${id}`, embedding: v }
    return { id, v, image, deep: v === null ? null : { note: 'x', in: { note: null, 'em.bed': v } } }
  })
}

async function tableOf(type: DataType, random: () => number, rows: number): Promise<Table> {
  const vectors = vectorOf(type)
  const fields = [
    { name: 'id', type: { kind: 'int', bits: 32, signed: true } as const, nullable: false },
    { name: 'v', type: vectors, nullable: true },
    { name: 'image', type: structOf('embedding', vectors), nullable: true },
    { name: 'deep', type: structOf('in', structOf('em.bed', vectors)), nullable: true },
  ]
  const table = await ns.createTable('t', [], { schema: { fields } })
  for (let at = 0; at < rows; at += 150) await table.add(rowsOf(random, at, Math.min(150, rows - at)))
  return table
}

const places = ['v', 'image.embedding', 'deep.in.`em.bed`']

/** What a search of each place gives: the first is the column. */
const answers = (table: Table, query: number[], where?: string) =>
  Promise.all(
    places.map(async column => {
      const search = table.search(query).column(column).select(['id', '_distance']).limit(10)
      return (where === undefined ? search : search.where(where)).toArray()
    }),
  )

async function agree(table: Table, random: () => number) {
  for (const where of [undefined, 'id % 3 = 1', "image.note > '5'"]) {
    const query = Array.from({ length: dim }, () => Math.floor(random() * 200))
    const [first, ...others] = await answers(table, query, where)
    expect(first).toHaveLength(10)
    for (const other of others) expect(other).toEqual(first)
  }
}

describe.each(Object.entries(elements))('of %s', (_, type) => {
  test('are found like those of a top-level column, through every change of the table', async () => {
    const random = randomFrom(7)
    const table = await tableOf(type, random, 400)
    await agree(table, random)
    await table.delete('id % 5 = 0')
    await agree(table, random)
    await table.update({ image: null, v: null, deep: null }, 'id % 11 = 1')
    await agree(table, random)
    await ns.optimize()
    await table.add(rowsOf(random, 1000, 50))
    await agree(table, random)
    await table.addColumns({ more: 'id + 1' })
    await table.alterColumns({ 'image.note': { rename: 'words' } })
    const query = Array.from({ length: dim }, () => 100)
    const [first, ...others] = await answers(table, query, "image.words > '5'")
    for (const other of others) expect(other).toEqual(first)
  })
})

describe.each(vectorKinds)('an index of type %s', type => {
  test('finds them, is updated by appends, and is named by their path', async () => {
    const random = randomFrom(3)
    const table = await tableOf(float(32), random, 900)
    for (const [i, column] of places.entries())
      await table.createIndex(column, { type, name: `near_${i}`, waitTimeoutMs: 60_000 })
    await table.add(rowsOf(random, 2000, 60))
    await table.delete('id % 10 = 2')
    await ns.optimize()
    const indexes = await table.listIndices()
    expect(indexes.map(({ columns }) => columns)).toEqual(places.map(place => [place]))
    for (const { status, indexedRows, unindexedRows } of indexes)
      expect([status, indexedRows, unindexedRows]).toEqual(['ready', await table.countRows(), 0])
    let found = 0
    for (let i = 0; i < 20; i++) {
      const query = Array.from({ length: dim }, () => Math.floor(random() * 200))
      for (const column of places) {
        const search = table.search(query).column(column).select(['id']).limit(10)
        expect(await search.explain()).toContain('ANNSubIndex: name=near_')
        const exact = new Set((await search.bypassVectorIndex().toArray()).map(({ id }) => id))
        found += (await search.nprobes(1000).ef(400).toArray()).filter(({ id }) => exact.has(id)).length
      }
    }
    expect(found / (20 * 10 * places.length)).toBeGreaterThan(0.9)
  })
})

test('lists of vectors inside of structs are searched by several vectors', async () => {
  const lists: DataType = {
    kind: 'list',
    large: false,
    child: { name: 'item', type: vectorOf(float(32)), nullable: true },
  }
  const random = randomFrom(5)
  const row = (id: number) => {
    const many = Array.from({ length: 1 + (id % 3) }, () => Array.from({ length: dim }, random))
    return { id, v: many, image: id % 6 === 5 ? null : { note: 'x', many } }
  }
  const fields = [
    { name: 'id', type: { kind: 'int', bits: 32, signed: true } as const, nullable: false },
    { name: 'v', type: lists, nullable: true },
    { name: 'image', type: structOf('many', lists), nullable: true },
  ]
  const rows = Array.from({ length: 60 }, (_, id) => row(id))
  const table = await ns.createTable('t', rows, { schema: { fields } })
  const query = [0, 1].map(() => Array.from({ length: dim }, random))
  const near = (column: string) =>
    table.search(query).column(column).where('image IS NOT NULL').select(['id', '_distance']).toArray()
  expect(await near('image.many')).toEqual(await near('v'))
  expect(await near('v')).not.toEqual([])
})

describe('a search without a column', () => {
  const create = (rows: readonly Record<string, unknown>[], names: readonly string[]) =>
    ns.createTable('t', rows, {
      schema: {
        fields: names.map(name => ({
          name,
          type: structOf('embedding', vectorOf(float(32))),
          nullable: true,
        })),
      },
    })
  const embedding = Array.from({ length: dim }, (_, i) => i)

  test('uses the only one', async () => {
    const table = await create([{ image: { note: 'a', embedding } }], ['image'])
    expect((await table.search(embedding).toArray())[0]).toMatchObject({ image: { note: 'a' }, _distance: 0 })
  })

  test('is refused if there are several, with their paths', async () => {
    const table = await create([{ image: { embedding }, text: { embedding } }], ['image', 'text'])
    expect(await failure(table.search(embedding).toArray())).toMatchObject({
      code: 13,
      message: 'columns "image.embedding", "text.embedding" all fit the query vector',
    })
    expect(await failure(table.search([1, 2]).column('image.embedding').toArray())).toMatchObject({
      message: 'column "image.embedding" has dimension 8, the query vector has 2',
    })
    expect(await failure(table.search([1, 2]).column('image.note').toArray())).toMatchObject({
      message: 'column "image.note" is utf8, which holds no vectors',
    })
  })
})

test('a nested field named without its path gets an error with the path', async () => {
  const table = await tableOf(float(32), randomFrom(3), 10)
  const query = new Array(dim).fill(1)
  expect(await failure(table.search(query).column('embedding').toArray())).toMatchObject({
    code: 12,
    hint: 'did you mean "image.embedding"?',
  })
  expect(await failure(table.search(query).column('`em.bed`').toArray())).toMatchObject({
    code: 12,
    hint: 'did you mean "deep.`in`.`em.bed`"?',
  })
  expect(await failure(table.countRows("Note = 'x'"))).toMatchObject({
    code: 12,
    hint: 'did you mean "image.note"?',
  })
})
