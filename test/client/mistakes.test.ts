/**
 * Typical mistakes of users who know Drizzle, Prisma, LanceDB or better-sqlite3. The compiler refuses each of them, or
 * the error names the fix.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, type Namespace, SheafError, schema, type Table } from '../../src/index.js'

interface Book {
  id: number
  title: string
  price: number
  n: number
  vector: Float32Array
}

let ns: Namespace
let books: Table<Book>

beforeAll(async () => {
  ns = await connect('memory://')
  books = await ns.createTable('books', [
    { id: 1, title: 'Emma', price: 10, n: 2, vector: Float32Array.of(1, 2) },
    { id: 2, title: 'Ulysses', price: 12, n: 3, vector: Float32Array.of(1, 3) },
  ])
  await ns.createTable('ids', [{ id: 1n }], { schema: schema({ id: 'int64!' }) })
})
afterAll(() => ns.close())

/** Names of request fields, which a user of the library never types. Messages may have them in parentheses. */
const wireName = /\b[a-z]+_[a-z_]+\b/

async function errorOf(call: () => unknown): Promise<SheafError> {
  const error = await (async () => call())().then(
    result => expect.fail(`was accepted, and gave ${JSON.stringify(result)}`),
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(SheafError)
  return error as SheafError
}

type Mistake = readonly [mistake: string, call: () => unknown, fix: string]

describe('the error of a typical mistake names the fix', () => {
  const mistakes: readonly Mistake[] = [
    // @ts-expect-error
    ['where with an object (Prisma)', () => books.query().where({ id: 5 }), "'id = ?', [5]"],
    // @ts-expect-error
    ['select with flags (Prisma)', () => books.query().select({ title: true }), '["title"]'],
    // @ts-expect-error
    ['select of one name', () => books.query().select('title'), '["title"]'],
    [
      'orderBy with an object (Prisma)',
      // @ts-expect-error
      () => books.query().orderBy({ price: 'desc' }),
      "orderBy('price desc')",
    ],
    // @ts-expect-error
    ['orderBy with a list in one text', () => books.query().orderBy('price DESC, n'), "orderBy('year desc')"],
    // @ts-expect-error
    ['limit as a text', () => books.query().limit('5'), 'limit must be an integer >= 0, got "5"'],
    [
      'filter instead of where',
      // @ts-expect-error
      () => books.query().toArray({ where: 'id = 1' }),
      'where is not a known option',
    ],
    // @ts-expect-error
    ['get without a key', () => books.get(), 'get(5)'],
    // @ts-expect-error
    ['get with an object (Prisma)', () => books.get({ id: 1 }), 'get(5)'],
    // @ts-expect-error
    ['search of undefined', () => books.search(undefined), 'an array of numbers'],
    [
      'search of an embedding that was not awaited',
      // @ts-expect-error
      () => books.search(Promise.resolve([1, 2])),
      'is await missing?',
    ],
    ['a vector of another dimension', () => books.search([1, 2, 3]).toArray(), '"vector" has 2'],
    ['a filter by distance', () => books.search([1, 2]).where('_distance < 2').toArray(), 'distanceRange'],
    // @ts-expect-error
    ['add of a single row', () => books.add({ id: 3 }), '[row]'],
    // @ts-expect-error
    ['add of a misspelt column', () => books.add([{ id: 3, titel: 'Emma' }]), 'did you mean "title"?'],
    // @ts-expect-error
    ['add of another type', () => books.add([{ id: '3' }]), 'column "id" is float64, got "3"'],
    [
      'add of a vector of another dimension',
      () => books.add([{ id: 3, vector: [1, 2, 3] }] as never),
      'needs 2 values, got 3',
    ],
    [
      'createTable without rows and without a schema',
      () => ns.createTable('x', []),
      "schema({ id: 'int64!' })",
    ],
    [
      'createTable with rows that do not fit the schema',
      // @ts-expect-error
      () => ns.createTable('x', [{ id: 'one' }], { schema: schema({ id: 'int64!' }) }),
      'column "id" is int64, got "one"',
    ],
    [
      'a schema without schema() (Drizzle)',
      () => ns.createTable('x', [{ id: 1 }], { schema: { id: 'int64' } as never }),
      "schema({ id: 'int64', title: 'string' })",
    ],
    ['createTable of a table that exists', () => ns.createTable('books', [{ id: 1 }]), "'exist_ok'"],
    ['openTable with a misspelt name', () => ns.openTable('boks'), 'did you mean "books"?'],
    ['openTable with a path in a text', () => ns.openTable('shop.books'), '["shop","books"]'],
    [
      'update with where and values (LanceDB)',
      // @ts-expect-error
      () => books.update({ where: 'id = 1', values: { price: 1 } }),
      'update({ column: value }, ',
    ],
    [
      'update with SQL as a plain text',
      () => books.update({ price: 'price + 1' } as never, 'id = 1'),
      'sql`',
    ],
    [
      'update with a misspelt column in the condition',
      () => books.update({ price: 1 }, 'idd = 1'),
      'did you mean "id"?',
    ],
    // @ts-expect-error
    ['delete without a condition', () => books.delete(), "'id = ?', [7]"],
    // @ts-expect-error
    ['upsert without on', () => books.upsert([{ id: 1 }]), 'upsert needs on'],
    [
      'upsert with a key column that does not exist',
      // @ts-expect-error
      () => books.upsert([{ id: 1 }], { on: 'idd' }),
      'did you mean "id"?',
    ],
    ['checkout of a tag that does not exist', () => books.checkout('nope'), 'the table has no tags'],
    ['checkout of a version that does not exist', () => books.checkout(99), 'the latest version is 1'],
    ['a misspelt column', () => books.countRows('prise > 5'), 'did you mean "price"?'],
    [
      'a misspelt column in a new column',
      () => books.addColumns({ total: 'prise * n' }),
      'did you mean "price"?',
    ],
    [
      'addColumns with an array (LanceDB)',
      // @ts-expect-error
      () => books.addColumns([{ name: 'total', valueSql: 'n' }]),
      "write { name: 'SQL expression' }",
    ],
    ['a text without quotes', () => books.countRows('title = Emma'), "'Emma'"],
    ['a parameter without values', () => books.countRows('id = ?'), '[value]'],
    // @ts-expect-error
    ['a value that is not in an array', () => books.countRows('id = ?', 1), '[value]'],
    ['a named parameter of SQLite with $', () => books.countRows('id = $id', { id: 1 }), ':name'],
    ['a text compared with a number', () => books.countRows("id = '1'"), 'write a number without quotes'],
    [
      'a call of the namespace in a transaction',
      () => ns.transaction(() => ns.createTable('inner', [{ id: 1 }])),
      'tx.table(...)',
    ],
    [
      'an integer that a number cannot hold',
      async () => (await ns.openTable('ids')).add([{ id: 2 ** 53 }]),
      'bigint',
    ],
    [
      'options of LanceDB for an index',
      // @ts-expect-error
      () => books.createIndex('vector', { type: 'IVF_PQ', numPartitions: 1 }),
      'did you mean partitions?',
    ],
    // @ts-expect-error
    ['an index type in lower case', () => books.createIndex('title', { type: 'fts' }), 'did you mean FTS?'],
    [
      'dropNamespace of a namespace with tables',
      async () => {
        await ns.createTable(['shop', 'books'], [{ id: 1 }], { createParents: true })
        await ns.dropNamespace('shop')
      },
      "behavior: 'cascade'",
    ],
    ['connect to a server', () => connect('http://localhost:2333'), 'connectHttp of sheaf/http'],
    [
      'a call of a closed namespace',
      async () => {
        const other = await connect('memory://')
        const table = await other.createTable('t', [{ id: 1 }])
        await other.close()
        await table.countRows()
      },
      'open it again with connect',
    ],
  ]

  test.each(mistakes)('%s', async (_, call, fix) => {
    const { message, hint = '' } = await errorOf(call)
    expect(`${message} (${hint})`).toContain(fix)
  })

  test('at least 25 mistakes are tested', () => {
    expect(mistakes.length).toBeGreaterThanOrEqual(25)
  })
})

describe('the compiler refuses', () => {
  test('a table that was not awaited', () => {
    // @ts-expect-error
    expect(() => ns.openTable('books').query()).toThrow(TypeError)
  })
})

describe('messages name the methods and options of the library', () => {
  const near = () => books.search([1, 2])
  const calls: readonly (readonly [what: string, call: () => unknown, named: string])[] = [
    ['withRowId of groups', () => books.query().select({ c: 'count(*)' }).withRowId().toArray(), 'withRowId'],
    ['groupBy without select', () => books.query().groupBy('title').toArray(), 'groupBy'],
    ['having without groups', () => books.query().having('n > 1').toArray(), 'groupBy'],
    ['distanceRange without a vector', () => books.query().distanceRange(1, 2).toArray(), 'distanceRange'],
    ['column without a vector', () => books.query().column('vector').toArray(), 'column'],
    ['highlight without words', () => books.query().highlight().toArray(), 'fullText'],
    ['requireIndex', () => books.query().fullText('a', { requireIndex: true }).toArray(), 'requireIndex'],
    [
      'several vectors and words',
      () =>
        books
          .search([
            [1, 2],
            [2, 1],
          ])
          .fullText('a')
          .toArray(),
      'fullText',
    ],
    [
      'several vectors and groups',
      () =>
        books
          .search([
            [1, 2],
            [2, 1],
          ])
          .groupBy('id')
          .select({ c: 'count(*)' })
          .toArray(),
      'groupBy',
    ],
    [
      'groups of the nearest rows',
      () => near().groupBy('id').select({ c: 'count(*)' }).toArray(),
      'distanceRange',
    ],
    ['a filter by distance', () => near().where('_distance < 2').toArray(), 'postfilter'],
    ['nprobes', () => near().nprobes({ min: 5, max: 2 }).toArray(), 'nprobes'],
    ['hamming', () => near().distanceType('hamming').toArray(), 'distanceType'],
    ['subVectors', () => books.createIndex('vector', { type: 'IVF_PQ', subVectors: 3 }), 'subVectors'],
    ['partitions', () => books.createIndex('vector', { type: 'IVF_PQ', partitions: 99 }), 'partitions'],
    [
      'two sizes',
      () => books.createIndex('vector', { type: 'IVF_PQ', partitions: 1, targetPartitionSize: 1 }),
      'targetPartitionSize',
    ],
    [
      'withPosition',
      () => books.createIndex('vector', { type: 'IVF_FLAT', withPosition: true } as never),
      'withPosition',
    ],
    [
      'partitions of a text index',
      () => books.createIndex('title', { type: 'FTS', partitions: 3 } as never),
      'partitions',
    ],
  ]

  test.each(calls)('%s', async (_, call, named) => {
    const { message, hint = '' } = await errorOf(call)
    expect(`${message} (${hint})`).toContain(named)
    for (const text of [message, hint]) {
      expect(text.replaceAll(/\([^()]*\)|fixed_size_list/g, '').match(wireName)).toBeNull()
    }
  })
})
