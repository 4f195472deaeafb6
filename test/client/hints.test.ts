/** Hints of errors that a newcomer meets: each shows what to write instead. */
import { afterAll, describe, expect, test } from 'vitest'
import { readArrow, readCsv, readParquet } from '../../adapters/files/public.js'
import { connect, schema, sql } from '../../src/index.js'
import { failure } from '../support/failure.js'

const ns = await connect('memory://hints')
const table = await ns.createTable('sales', [
  { id: 1, n: 5, lang: 'en' },
  { id: 2, n: 7, lang: 'de' },
])
await table.tags.create('good', await table.version())
afterAll(() => ns.close())

describe('parameters without values', () => {
  test.each([
    ['id = ?', 'pass the values in an array, for example where(sql, [value])'],
    ['id = $1', 'pass the values in an array, for example where(sql, [value])'],
    ['id = :key', 'pass the values in an object, for example where(sql, { key: value })'],
  ])('%s', async (condition, hint) => {
    expect(await failure(table.query().where(condition).toArray())).toMatchObject({ code: 13, hint })
    expect(await failure(table.countRows(condition))).toMatchObject({ code: 13, hint })
    const several = table.query().where('n > ?', [1]).where(condition)
    expect(await failure(several.toArray())).toMatchObject({ code: 13, hint })
  })

  test('too few values have no hint', async () => {
    const few = table.query().where('id = ? OR n = ?', [1]).toArray()
    expect(await failure(few)).toMatchObject({ code: 13, hint: undefined })
  })
})

test('a condition that is an object shows the condition as text', () => {
  const refused = (call: () => unknown) => {
    try {
      return call()
    } catch (error) {
      return error
    }
  }
  const where = (condition: unknown) => refused(() => table.query().where(condition as string))
  expect(where({ lang: 'en' })).toMatchObject({ code: 13, hint: "write where('lang = ?', ['en'])" })
  expect(where({ lang: 'en', id: 1 })).toMatchObject({
    hint: "write where('lang = ? AND id = ?', ['en', 1])",
  })
  expect(where({ id: { gt: 1 } })).toMatchObject({ hint: "write where('id = ?', [7])" })
})

test('an object as identifier names the usual form', async () => {
  const message = expect.stringContaining('createTable: the identifier must be a string, got {"name":"a"')
  expect(await failure(ns.createTable({ name: 'a' } as never, []))).toMatchObject({ code: 13, message })
})

test('a search in lists shows the conversion to vectors, which works', async () => {
  const lists = await ns.createTable('lists', [{ v: [1, 2] }, { v: [3, 4] }])
  const hint = /alterColumns\(\{ "v": \{ type: 'vector\(384\)' \} \}\)/
  expect(await failure(lists.search([1, 2]).toArray())).toMatchObject({
    code: 13,
    hint: expect.stringMatching(hint),
  })
  expect(await failure(lists.alterColumns({ v: { type: 'vector(3)' } }))).toMatchObject({ status: 400 })
  await lists.alterColumns({ v: { type: 'vector(2)' } })
  expect(await lists.search([3, 4]).limit(1).toArray()).toMatchObject([{ _distance: 0 }])
})

test('the address of a file instead of its path names the way out', async () => {
  for (const read of [readCsv, readParquet, readArrow]) {
    const error = await failure(read('s3://bucket/file').next())
    expect(error).toMatchObject({ code: 13, hint: expect.stringContaining('pass the path of a local file') })
  }
})

test('a file of another format is named', async () => {
  const file = import.meta.filename
  for (const read of [readParquet, readArrow])
    expect(await failure(read(file).next())).toMatchObject({
      message: expect.stringContaining('hints.test.ts'),
    })
})

describe('versions and tags', () => {
  test.each([1.5, -1, null, '', {}])('%j is neither a version nor a tag', async version => {
    const message = /the version must be an integer >= 0, or the name of a tag, got/
    expect(await failure(table.restore(version as number))).toMatchObject({ code: 13, message })
    expect(await failure(table.checkout(version as number))).toMatchObject({ code: 13, message })
  })

  test('a misspelt tag and a misspelt table suggest the nearest name', async () => {
    expect(await failure(table.checkout('goood'))).toMatchObject({ hint: 'did you mean "good"?' })
    expect(await failure(table.restore('goood'))).toMatchObject({ hint: 'did you mean "good"?' })
    expect(await failure(ns.openTable('sale'))).toMatchObject({ hint: 'did you mean "sales"?' })
  })
})

test.each([
  ['n - 1', 'n - 1'],
  ['abs(n)', 'abs(n)'],
  ['many', '...'],
  ['`n`', '...'],
])('the text %s for a number in update shows the tag for expressions', async (text, shown) => {
  expect(await failure(table.update({ n: text as unknown as number }))).toMatchObject({
    code: 20,
    hint: `a text is a value: pass a value of the type, or write an expression with the tag: { n: sql\`${shown}\` }`,
  })
  await table.update({ n: sql`n - 1` }, 'id = 1 AND n = 5')
  expect(await table.countRows('n = 4')).toBe(1)
})

test('a facet that is an expression says that a facet is a column', async () => {
  const facets = ['lower(lang)' as 'lang']
  expect(await failure(table.query().page({ facets }))).toMatchObject({
    code: 12,
    hint: 'a facet is a column: add the expression as a column (addColumns), or use groupBy',
  })
  expect(await failure(table.query().page({ facets: ['lagn' as 'lang'] }))).toMatchObject({
    hint: 'did you mean "lang"?',
  })
})

test.each([
  ['int64?', 'columns are nullable unless their type ends in !: write int64'],
  ['string null', 'columns are nullable unless their type ends in !: write string'],
  ['int64 not null', 'write int64!'],
])('the type %s in a schema shows how to write null', (type, hint) => {
  expect(() => schema({ id: type })).toThrow(expect.objectContaining({ code: 13, hint }))
})
