/** Many rows at once, and none at all. */
import * as arrow from 'apache-arrow'
import { beforeEach, describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { connectRemote, releases, type Served, servers } from './peers.js'

const serveRoot = servers()

const count = 200_000

/** Rows whose values tell their number. */
function many(first: number, rows: number): arrow.Table {
  const random = seededRandom(first)
  const numbers = Array.from({ length: rows }, (_, i) => first + i)
  const vectors = new Float32Array(8 * rows).map(() => random())
  const child = new arrow.Field('item', new arrow.Float32(), true)
  return new arrow.Table({
    id: arrow.makeVector(Int32Array.from(numbers)),
    text: arrow.vectorFromArray(
      numbers.map(id => (id % 11 === 0 ? null : `row ${id}`)),
      new arrow.Utf8(),
    ),
    vector: arrow.makeVector(
      arrow.makeData({
        type: new arrow.FixedSizeList(8, child),
        length: rows,
        child: arrow.makeData({ type: new arrow.Float32(), length: vectors.length, data: vectors }),
      }),
    ),
  })
}

describe.each(releases)('remote client $release', ({ lancedb }) => {
  let served: Served
  let db: Awaited<ReturnType<typeof connectRemote>>

  beforeEach(async () => {
    served = await serveRoot()
    db = await connectRemote(lancedb, served.url)
  })

  test(`${count} rows arrive and come back`, async () => {
    const table = await db.createTable('t', many(0, 10))
    const sent = many(10, count)
    expect(await table.add(sent)).toMatchObject({ version: 2 })
    expect(await table.countRows()).toBe(count + 10)
    expect(await table.countRows('text IS NULL')).toBe(Math.ceil((count + 10) / 11))

    const back = await table.query().toArrow()
    expect(back.numRows).toBe(count + 10)
    const [ids, texts, vectors] = ['id', 'text', 'vector'].map(name => back.getChild(name)!)
    expect(ids!.toArray()).toEqual(Int32Array.from({ length: count + 10 }, (_, i) => i))
    for (let row = 10; row < count; row += 997) {
      expect(texts!.get(row)).toBe(row % 11 === 0 ? null : `row ${row}`)
      expect(vectors!.get(row).toArray()).toEqual(
        sent
          .getChild('vector')!
          .get(row - 10)
          .toArray(),
      )
    }

    let seen = 0
    for await (const batch of table.query().select(['id']) as unknown as AsyncIterable<arrow.RecordBatch>) {
      seen += batch.numRows
    }
    expect(seen).toBe(count + 10)
    const page = await table.query().select(['id']).offset(count).limit(5).toArray()
    expect(page.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4].map(i => count + i))
  })

  test('many rows are merged and updated', async () => {
    const table = await db.createTable('t', many(0, 60_000))
    const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll()
    const result = await merge.execute(many(30_000, 60_000))
    expect(result).toMatchObject({ numInsertedRows: 30_000, numUpdatedRows: 30_000 })
    expect(await table.update({ where: 'id < 50000', values: { text: 'x' } })).toMatchObject({
      rowsUpdated: 50_000,
    })
    expect(await table.countRows("text = 'x'")).toBe(50_000)
    expect(await table.delete('id % 2 = 0')).toMatchObject({ numDeletedRows: 45_000 })
    expect(await table.countRows()).toBe(45_000)
  })

  test('a filter that is longer than most header fields may be arrives with a merge', async () => {
    const table = await db.createTable('t', [{ id: 1, n: 1 }])
    const where = Array.from({ length: 1500 }, (_, i) => `target.n != ${1000 + i}`).join(' AND ')
    const merge = table.mergeInsert('id').whenMatchedUpdateAll({ where })
    expect(await merge.execute([{ id: 1, n: 2 }])).toMatchObject({ numUpdatedRows: 1 })
  })

  test('long texts, wide rows and many batches', async () => {
    const wide = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`c${i}`, i]))
    const table = await db.createTable('wide', [wide, wide])
    const [row] = await table.query().limit(1).toArray()
    expect({ ...row }).toEqual(wide)
    const long = 'ä'.repeat(2_000_000)
    const texts = await db.createTable('long', [{ text: long }])
    expect((await texts.query().toArray())[0]!.text).toBe(long)
    const batches = Array.from({ length: 200 }, (_, i) => many(i * 10, 10).batches).flat()
    const pieces = await db.createTable('pieces', new arrow.Table(batches))
    expect(await pieces.countRows()).toBe(2000)
  })

  test('no rows have a schema all the same', async () => {
    const table = await db.createTable('t', many(0, 10))
    const queries = [
      table.query().where('false'),
      table.query().offset(100),
      table.query().limit(0),
      table.vectorSearch(Array(8).fill(0)).where('id < 0'),
      table.query().fullTextSearch('nowhere'),
    ]
    for (const query of queries) {
      expect(await query.toArray()).toEqual([])
      const { fields } = await query.outputSchema()
      expect(fields.slice(0, 3).map(String)).toEqual([
        'id: Int32',
        'text: Utf8',
        'vector: FixedSizeList[8]<Float32>',
      ])
    }
    await table.delete('true')
    expect((await table.query().outputSchema()).fields).toHaveLength(3)
    expect(await table.countRows()).toBe(0)
  })

  test('many requests at a time', async () => {
    const table = await db.createTable('t', many(0, 2000))
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => table.countRows(`id < ${i}`)))
    expect(answers).toEqual(Array.from({ length: 40 }, (_, i) => i))
  })
})
