/** Sheaf answers queries on tables of LanceDB as LanceDB does, at each version. */
import { pathToFileURL } from 'node:url'
import * as arrow from 'apache-arrow'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { concatBatches } from '../../src/arrow/concat.js'
import { fromForeignArrow } from '../../src/arrow/foreign.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { sliceBatch } from '../../src/arrow/slice.js'
import type { DataType } from '../../src/arrow/types.js'
import { connect } from '../../src/index.js'
import { lanceCases } from '../support/lance-cases.js'
import { comparable } from '../support/lance-files.js'
import { temporaryRoots } from '../support/roots.js'
import { allRows, createFromIpc, fileReleases, type Lancedb, toIpc } from './peers.js'

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

/** Rows that a version of the file format can store: 2.0 has no null structs. */
function rowsFrom(random: Random, first: number, count: number, version: string): Record<string, unknown>[] {
  const orNull = (value: unknown) => (random(5) === 0 ? null : value)
  const struct = () => ({ a: orNull(random(100)), b: orNull(words[random(words.length)]) })
  return Array.from({ length: count }, (_, i) => ({
    id: first + i,
    n: orNull(random(1000) - 500),
    x: orNull(random(1000) / 8),
    text: orNull(`${words[random(words.length)]} ${random(50)}`),
    flag: orNull(random(2) === 0),
    list: orNull(Array.from({ length: random(4) }, () => random(9))),
    s: version === '2.0' ? struct() : orNull(struct()),
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

/** Write a table with many versions. */
async function writeTable(
  lancedb: Lancedb,
  folder: string,
  random: Random,
  options: object,
  version: string,
): Promise<void> {
  const make = (first: number, count: number) =>
    lancedb.makeArrowTable(rowsFrom(random, first, count, version), { schema: schema as never })
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
      rowsFrom(random, 900, 30, version).map(({ text, ...row }) => ({ ...row, words: text, twice: 7 })),
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
  // 0.10 does not change types.
  if (table.listVersions !== undefined) await table.alterColumns([{ path: 'x', dataType: 'float' as never }])
  await table.alterColumns([{ path: 'id', nullable: true }])
  await table.optimize()
  await table.delete('id % 2 = 0')
}

/** The vector search of LanceDB, which has no such method for some types of queries. */
function searchOf(table: LanceTable, vector: readonly number[]) {
  return table.search([...vector]) as ReturnType<LanceTable['vectorSearch']>
}

/** The number by which updates change ids. */
const moved = 100_000

/** Tables that all releases, or one release, fail to update or to read. */
const unfit: Readonly<Record<string, readonly string[]>> = {
  all: ['blobs', 'fixed-structs', 'packed-texts'],
  '0.19': ['plain-nested'],
  '0.10': ['flat', 'dictionaries', 'packed'],
}

/** Add the column `id`, which numbers the rows. */
function withIds({ schema: { fields }, columns, length }: Batch, first: number): Batch {
  const type: DataType = { kind: 'int', bits: 32, signed: true }
  const ids = rowsToBatch(
    Array.from({ length }, (_, i) => ({ id: first + i })),
    { fields: [{ name: 'id', type, nullable: false }] },
  )
  return {
    schema: { fields: [...fields, ...ids.schema.fields] },
    length,
    columns: [...columns, ...ids.columns],
  }
}

/** Return the values of all columns, in the order of the last column. */
function byId({ columns }: Batch): unknown[][] {
  const values = columns.map(comparable)
  const ids = values.at(-1) as number[]
  const order = ids.map((_, i) => i).sort((a, b) => ids[a]! - ids[b]!)
  return values.map(column => order.map(i => column[i]))
}

/** Return all rows of the table `t`, as Sheaf reads them. */
async function sheafRows(folder: string): Promise<Batch> {
  const ns = await connect(`lance+${pathToFileURL(folder)}`)
  const table = await ns.openTable('t')
  const { batches } = fromForeignArrow(await table.query().toArrow())!
  await ns.close()
  return concatBatches([...batches])
}

describe.each(fileReleases)('LanceDB $release', ({ lancedb, reader, release, fileVersions }) => {
  const hasStableIds = !['0.10', '0.19'].includes(release)
  const [byDefault] = fileVersions
  const stable = { storageOptions: { new_table_enable_stable_row_ids: 'true' } }
  // The tests of files compare all versions of all releases.
  const versions = release === fileReleases[0]!.release ? fileVersions : [byDefault!]
  const tables: [rowIds: string, version: string, options: object][] = [
    ...versions.map((version): [string, string, object] => ['addresses as row ids', version, {}]),
    ...(hasStableIds ? [['stable row ids', byDefault!, stable] as [string, string, object]] : []),
  ]

  test.each(tables)(
    'all versions of a table have the same rows, counts and nearest rows (%s, file version %s)',
    async (_, version, options) => {
      const folder = freshFolder()
      const random = randomFrom(7)
      await writeTable(lancedb, folder, random, { ...options, dataStorageVersion: version }, version)
      const theirs: LanceTable = await (await reader.connect(folder)).openTable('items')
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
            const near = await searchOf(theirs, vector).bypassVectorIndex().where(filter).limit(10).toArray()
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
    },
  )

  const cases = lanceCases()
    .filter(
      ({ versions, name }) =>
        versions.includes(byDefault!) &&
        !unfit.all!.includes(name) &&
        unfit[release]?.includes(name) !== true,
    )
    .map(({ name, batch }) => ({ name, batch }))

  test.each(cases)(
    'a table of the types $name keeps its values through changes and compactions',
    async of => {
      const folder = freshFolder()
      const values = of.batch.columns.map(comparable)
      const { length } = of.batch
      const inner = await createFromIpc({ lancedb, release }, folder, toIpc(withIds(of.batch, 0)), byDefault!)
      // Rows `i` to `i` + 4 again, with the ids `length` + 10 * `i` to `length` + 10 * `i` + 4.
      for (let i = 0; i < 5; i++) {
        const rows = sliceBatch(of.batch, i, Math.min(5, length - i))
        await inner.add(toIpc(withIds(rows, length + 10 * i)), 'append')
      }
      const rowOf = (id: number) => (id < length ? id : ((id - length) % 10) + Math.floor((id - length) / 10))
      const table = await (await lancedb.connect(folder)).openTable('t')
      const compare = async (): Promise<void> => {
        const theirs = byId(await allRows(reader, folder))
        const ours = byId(await sheafRows(folder))
        expect(ours).toEqual(theirs)
        const rows = (ours.at(-1) as number[]).map(id => rowOf(id % moved))
        for (const [i, written] of values.entries()) expect(ours[i]).toEqual(rows.map(row => written[row]))
      }
      await compare()
      await table.delete('id % 7 = 3')
      await table.update({ where: 'id % 5 = 1', valuesSql: { id: `id + ${moved}` } })
      await compare()
      await table.optimize()
      await compare()
      await table.delete('id % 11 = 4')
      await compare()
    },
  )

  test('a search finds at least as many of the nearest rows as LanceDB with its index', async () => {
    const folder = freshFolder()
    const random = randomFrom(11)
    const [rows, dim] = [2000, 32]
    const vectors = Array.from({ length: rows }, () => Array.from({ length: dim }, () => random(1000) / 100))
    const db = await lancedb.connect(folder)
    const table = await db.createTable(
      't',
      vectors.map((vector, id) => ({ id, vector })),
      { dataStorageVersion: byDefault! } as object,
    )
    await table.createIndex('vector', { config: lancedb.Index.ivfPq({ numPartitions: 8, numSubVectors: 4 }) })
    await table.add([{ id: rows, vector: vectors[0]! }])
    const ns = await connect(`lance+${pathToFileURL(folder)}`)
    const ours = await ns.openTable('t')
    let [hitsOfTheirs, hitsOfOurs] = [0, 0]
    for (let i = 0; i < 20; i++) {
      const query = vectors[random(rows)]!.map(value => value + random(100) / 100)
      const distance = (id: number) =>
        vectors[id % rows]!.reduce((sum, value, at) => sum + (value - query[at]!) ** 2, 0)
      const nearest = Array.from({ length: rows + 1 }, (_, id) => id).sort(
        (a, b) => distance(a) - distance(b),
      )
      const limit = distance(nearest[9]!) + 1e-3
      const hits = (found: readonly Record<string, unknown>[]) =>
        found.filter(({ id }) => distance(Number(id)) <= limit).length
      hitsOfTheirs += hits(await searchOf(table, query).limit(10).toArray())
      hitsOfOurs += hits(await ours.search(query).limit(10).toArray())
    }
    await ns.close()
    expect(hitsOfOurs).toBe(200)
    expect(hitsOfTheirs).toBeLessThanOrEqual(hitsOfOurs)
  })

  test.skipIf(Number(release) < 0.37)(
    'shallow clones and branches are refused, and the errors name the way out',
    async () => {
      const folder = freshFolder()
      const db = await lancedb.connect(folder)
      const table = await db.createTable('items', [{ a: 1 }, { a: 2 }])
      await db.cloneTable('clone', `${folder}/items.lance`, { isShallow: true })
      const branch = await (await table.branches()).create('trial')
      await branch.add([{ a: 3 }])
      await (await branch.tags()).create('tried', 2)
      const warnings: string[] = []
      const onWarning = (message: string) => warnings.push(message)
      await using ns = await connect(`lance+${pathToFileURL(folder)}`, { onWarning })
      expect(warnings).toEqual(['tag "tried" of table "items" is left out'])
      expect(await ns.table('items').countRows()).toBe(2)
      const refusal = {
        status: 406,
        message: expect.stringContaining('is a shallow clone or a branch'),
        hint: 'copy the table with LanceDB (a deep clone) and read the copy',
      }
      await expect(ns.table('clone').countRows()).rejects.toMatchObject(refusal)
      await using tree = await connect(`lance+${pathToFileURL(`${folder}/items.lance/tree/trial`)}`)
      await expect(tree.table('trial').countRows()).rejects.toMatchObject(refusal)
      await expect((await ns.openTable('items')).checkout('tried')).rejects.toMatchObject({
        message: expect.stringContaining('on the branch "trial"'),
        hint: expect.stringContaining('copy the branch into a table'),
      })
    },
  )
})
