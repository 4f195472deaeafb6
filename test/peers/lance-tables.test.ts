/** Sheaf answers queries on tables of LanceDB as LanceDB does, at each version. */
import { pathToFileURL } from 'node:url'
import * as arrow from 'apache-arrow'
import { describe, expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { temporaryRoots } from '../support/roots.js'
import { type Lancedb, releases } from './peers.js'

const freshFolder = temporaryRoots()
const dimension = 16

/** Return a generator of integers from 0 to `below` - 1. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

type Random = ReturnType<typeof randomFrom>

const words = ['alpha', 'beta', 'gamma', 'delta', 'it is', "o'clock", '', 'ünïcode']

function rowsFrom(random: Random, first: number, count: number): Record<string, unknown>[] {
  const orNull = (value: unknown) => (random(5) === 0 ? null : value)
  return Array.from({ length: count }, (_, i) => ({
    id: first + i,
    n: orNull(random(1000) - 500),
    x: orNull(random(1000) / 8),
    text: orNull(`${words[random(words.length)]} ${random(50)}`),
    flag: orNull(random(2) === 0),
    list: orNull(Array.from({ length: random(4) }, () => random(9))),
    s: orNull({ a: orNull(random(100)), b: orNull(words[random(words.length)]) }),
    vector: Array.from({ length: dimension }, () => random(64) / 4),
  }))
}

const schema = new arrow.Schema([
  new arrow.Field('id', new arrow.Int32(), false),
  new arrow.Field('n', new arrow.Int32(), true),
  new arrow.Field('x', new arrow.Float64(), true),
  new arrow.Field('text', new arrow.Utf8(), true),
  new arrow.Field('flag', new arrow.Bool(), true),
  new arrow.Field('list', new arrow.List(new arrow.Field('item', new arrow.Int32(), true)), true),
  new arrow.Field(
    's',
    new arrow.Struct([
      new arrow.Field('a', new arrow.Int32(), true),
      new arrow.Field('b', new arrow.Utf8(), true),
    ]),
    true,
  ),
  new arrow.Field(
    'vector',
    new arrow.FixedSizeList(dimension, new arrow.Field('item', new arrow.Float32(), true)),
    true,
  ),
])

/** Convert a value of LanceDB or Sheaf to a form that can be compared. */
function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object') return value
  const { toArray, toJSON } = value as { toArray?: () => Iterable<unknown>; toJSON?: () => object }
  if (ArrayBuffer.isView(value) || Array.isArray(value)) return Array.from(value as Iterable<unknown>, plain)
  if (toJSON !== undefined && !(Symbol.iterator in value && toArray !== undefined))
    return plain({ ...toJSON.call(value) })
  if (toArray !== undefined) return Array.from(toArray.call(value), plain)
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [name, plain(each)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function sorted(rows: readonly unknown[]): string[] {
  return rows.map(row => JSON.stringify(plain(row))).sort()
}

/** Return a random condition. `text`: the name of the column of texts. */
function randomFilter(random: Random, text: string): string {
  const simple = [
    () => `id ${['<', '>', '<=', '>=', '=', '!='][random(6)]} ${random(900)}`,
    () => `n BETWEEN ${random(400) - 400} AND ${random(400)}`,
    () => `x ${random(2) === 0 ? '<' : '>='} ${random(100)}.5`,
    () => `${text} LIKE '%${['alpha', '1', "o''clock", 'ü'][random(4)]}%'`,
    () => `${text} IN ('alpha 1', 'beta 2', 'gamma ${random(50)}')`,
    () => ['flag', 'NOT flag', 'flag IS NULL'][random(3)]!,
    () => `${['n', 'x', text, 's', 'list'][random(5)]} IS ${random(2) === 0 ? '' : 'NOT '}NULL`,
    () => `s.a > ${random(100)}`,
  ]
  const pick = () => `(${simple[random(simple.length)]!()})`
  const parts = Array.from({ length: 1 + random(3) }, pick)
  return parts.join(random(2) === 0 ? ' AND ' : ' OR ')
}

type LanceTable = Awaited<ReturnType<Awaited<ReturnType<Lancedb['connect']>>['openTable']>>

/** Write a table with many versions. Returns the number of versions. */
async function writeTable(lancedb: Lancedb, folder: string, random: Random, options: object): Promise<void> {
  const make = (first: number, count: number) =>
    lancedb.makeArrowTable(rowsFrom(random, first, count), { schema: schema as never })
  const db = await lancedb.connect(folder)
  const table = await db.createTable('items', make(0, 400), options)
  await table.delete('id % 7 = 3')
  await table.update({ where: 'id < 60', values: { text: 'updated' } })
  for (let i = 0; i < 3; i++) await table.add(make(400 + 40 * i, 40))
  await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(make(380, 200))
  await table.addColumns([{ name: 'twice', valueSql: 'n * 2' }])
  await table.delete('id >= 100 AND id < 300')
  await table.alterColumns([{ path: 'text', rename: 'words' }])
  await table.add(
    lancedb.makeArrowTable(
      rowsFrom(random, 900, 30).map(({ text, ...row }) => ({ ...row, words: text, twice: 7 })),
      {
        schema: new arrow.Schema([
          ...schema.fields.map(each =>
            each.name === 'text' ? new arrow.Field('words', each.type, true) : each,
          ),
          new arrow.Field('twice', new arrow.Int32(), true),
        ]) as never,
      },
    ),
  )
  await table.dropColumns(['twice'])
  await table.optimize()
  await table.delete('id % 2 = 0')
}

describe.each(releases)('LanceDB $release', ({ lancedb }) => {
  test.each([
    ['addresses as row ids', {}],
    ['stable row ids', { storageOptions: { new_table_enable_stable_row_ids: 'true' } }],
  ])('all versions of a table have the same rows, counts and nearest rows (%s)', async (_, options) => {
    const folder = freshFolder()
    const random = randomFrom(7)
    await writeTable(lancedb, folder, random, options)
    const theirs: LanceTable = await (await lancedb.connect(folder)).openTable('items')
    const ns = await connect(`lance+${pathToFileURL(folder)}`)
    try {
      expect(await ns.tableNames()).toEqual(['items'])
      const ours = await ns.openTable('items')
      const versions = await theirs.listVersions()
      expect((await ours.versions()).map(({ version }) => version)).toEqual(
        versions.map(({ version }) => version),
      )
      expect((await ours.versions()).map(each => each.timestamp_millis)).toEqual(
        versions.map(({ timestamp }) => timestamp.getTime()),
      )
      for (const { version } of versions) {
        await theirs.checkout(version)
        const at = await ours.checkout(version)
        const text = (await at.schema()).fields.some(({ name }) => name === 'words') ? 'words' : 'text'
        expect(await at.countRows()).toBe(await theirs.countRows())
        expect(sorted(await at.query().withRowId().toArray())).toEqual(
          sorted(await theirs.query().withRowId().toArray()),
        )
        for (let i = 0; i < 12; i++) {
          const filter = randomFilter(random, text)
          const expected = sorted(await theirs.query().where(filter).toArray())
          expect({ filter, rows: sorted(await at.query().where(filter).toArray()) }).toEqual({
            filter,
            rows: expected,
          })
          expect({ filter, count: await at.countRows(filter) }).toEqual({ filter, count: expected.length })
        }
        for (let i = 0; i < 4; i++) {
          const vector = Array.from({ length: dimension }, () => random(64) / 4 + 0.01 * random(10))
          const filter = randomFilter(random, text)
          const near = await (theirs.search(vector) as ReturnType<LanceTable['vectorSearch']>)
            .bypassVectorIndex()
            .where(filter)
            .limit(10)
            .toArray()
          const found = await at.search(vector).where(filter).limit(10).toArray()
          const distances = (rows: readonly unknown[]) =>
            rows.map(row => (row as { _distance: number })._distance)
          expect(distances(found).length).toBe(near.length)
          for (const [k, distance] of distances(near).entries())
            expect(distances(found)[k]).toBeCloseTo(distance, 3)
        }
      }
    } finally {
      await ns.close()
    }
  })
})
