/** Rows are added, changed, merged and taken away. */
import type { MergeResult } from '@lancedb/lancedb'
import * as arrow from 'apache-arrow'
import { type Program, rowsOf } from '../both.js'
import { versions } from './tables.js'

const docs = [
  { id: 1, text: 'one', price: 1.5, vector: [1, 0, 0] },
  { id: 2, text: 'two', price: 2.5, vector: [0, 1, 0] },
  { id: 3, text: 'three', price: 3.5, vector: [0, 0, 1] },
]
const pairs = [
  { id: 1, part: 'a', n: 10 },
  { id: 1, part: 'b', n: 20 },
  { id: 2, part: 'a', n: 30 },
]

export const rowPrograms: Readonly<Record<string, Program>> = {
  adding: async ({ db, ask, refused }) => {
    const table = await db.createTable('t', docs)
    await ask('append', table.add([{ ...docs[0]!, id: 4 }]))
    await ask('appended', rowsOf(table.query(), 'id'))
    await ask('overwrite', table.add([{ ...docs[0]!, id: 5 }], { mode: 'overwrite' }))
    await ask('overwritten', rowsOf(table.query(), 'id'))
    await ask(
      'nothing',
      table.add([]).catch(() => 'refused'),
    )
    await ask('some columns', table.add([{ id: 6, text: 'six' }]))
    await ask('rows', table.toArrow())
    await refused('another type', () => table.add([{ id: 'seven' }]), /./)
    await ask('versions', versions(table))
    const seen: number[] = []
    await table.add(docs, { progress: ({ outputRows, done }) => seen.push(done ? outputRows : 0) })
    await ask('progress', seen.at(-1))
  },

  'of other Arrow types than the table has': async ({ db, ask, refused }) => {
    const table = await db.createTable(
      't',
      new arrow.Table({
        id: arrow.vectorFromArray([1n], new arrow.Int64()),
        x: arrow.vectorFromArray([1.5], new arrow.Float32()),
      }),
    )
    const add = (id: arrow.Vector, x: arrow.Vector) => table.add(new arrow.Table({ id, x }))
    const half = arrow.vectorFromArray([0.5], new arrow.Float64())
    await ask('narrower', add(arrow.vectorFromArray([2], new arrow.Int32()), half))
    await ask('rows', table.toArrow())
    await refused('text', () => add(arrow.vectorFromArray(['x'], new arrow.Utf8()), half), /./)
  },

  updating: async ({ db, ask, refused }) => {
    const table = await db.createTable('t', docs)
    await ask('values', table.update({ where: 'id = 1', values: { text: "it's", price: 9 } }))
    await ask('a map', table.update({ where: 'id = 2', values: new Map([['text', 'mapped']]) }))
    await ask('SQL', table.update({ valuesSql: { price: 'price * 2', text: 'upper(text)' } }))
    await ask('by the short form', table.update({ price: 'price + id' }, { where: 'id > 1' }))
    await ask('null', table.update({ where: 'id = 3', values: { text: null } }))
    await ask('vector', table.update({ where: 'id = 3', values: { vector: [7, 8, 9] } }))
    const nothing = await table.update({ where: 'id = 99', values: { price: 0 } })
    await ask('nothing', nothing.rowsUpdated)
    await ask('its version', nothing.version)
    await ask('rows', sortedRows(table, 'id', 'text', 'price', 'vector'))
    await refused('no such column', () => table.update({ values: { prise: 1 } }), /prise/)
    await refused('no such column in SQL', () => table.update({ valuesSql: { price: 'prise' } }), /prise/)
    await refused('no sense', () => table.update({ where: 'price >', values: { price: 1 } }), /./)
    await refused('another type', () => table.update({ values: { price: 'cheap' } }), /./)
  },

  deleting: async ({ db, ask, refused }) => {
    const table = await db.createTable('t', docs)
    await ask('one', table.delete('id = 1'))
    const none = await table.delete('id = 99')
    await ask('none', none.numDeletedRows)
    await ask('its version', none.version)
    await ask('left', rowsOf(table.query(), 'id'))
    await refused('no such column', () => table.delete('prise > 1'), /prise/)
    await ask('all', (await table.delete('true')).numDeletedRows)
    await ask('rows', table.toArrow())
    await table.add(docs)
    await ask('rows later', rowsOf(table.query(), 'id', 'text'))
  },

  counting: async ({ db, ask, refused }) => {
    const table = await db.createTable('t', docs)
    await ask('all', table.countRows())
    await ask('some', table.countRows("price > 2 AND text LIKE 't%'"))
    await ask('none', table.countRows('false'))
    await refused('no such column', () => table.countRows('prise > 1'), /prise/)
    await table.checkout(1)
    await ask('then', table.countRows())
  },

  'merging: an upsert': async ({ db, ask }) => {
    const table = await db.createTable('t', docs)
    const fresh = [
      { id: 2, text: 'zwei', price: 2, vector: [2, 2, 2] },
      { id: 4, text: 'vier', price: 4, vector: [4, 4, 4] },
    ]
    const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll()
    const { numRows, ...upserted } = await merge.execute(fresh)
    await ask('upsert', upserted)
    await ask('rows written', numRows)
    await ask('rows', sortedRows(table, 'id', 'text', 'price', 'vector'))
    await ask('again', counts(merge.execute(fresh, { timeoutMs: 30_000 })))
    await ask('version', table.version())
  },

  'merging: only what is new, only what is there': async ({ db, ask }) => {
    const table = await db.createTable('t', docs)
    const fresh = [
      { id: 2, text: 'zwei', price: 2, vector: [2, 2, 2] },
      { id: 4, text: 'vier', price: 4, vector: [4, 4, 4] },
    ]
    await ask('insert', counts(table.mergeInsert('id').whenNotMatchedInsertAll().execute(fresh)))
    await ask('inserted', sortedRows(table, 'id', 'text'))
    await ask('update', counts(table.mergeInsert('id').whenMatchedUpdateAll().execute(fresh)))
    await ask('updated', sortedRows(table, 'id', 'text'))
    const { version, numInsertedRows } = await table
      .mergeInsert('id')
      .whenNotMatchedInsertAll()
      .execute(fresh)
    await ask('nothing new', numInsertedRows)
    await ask('its version', version)
  },

  'merging: under a condition': async ({ db, ask, refused }) => {
    const table = await db.createTable('t', docs)
    const dearer = docs.map(doc => ({ ...doc, price: doc.id === 2 ? 0 : 9, text: 'new' }))
    const where = 'source.price > target.price'
    await ask('dearer', counts(table.mergeInsert('id').whenMatchedUpdateAll({ where }).execute(dearer)))
    await ask('rows', sortedRows(table, 'id', 'text', 'price'))
    const bad = { where: 'source.prise > 1' }
    await refused(
      'no such column',
      () => table.mergeInsert('id').whenMatchedUpdateAll(bad).execute(dearer),
      /prise/,
    )
  },

  'merging: what the source lacks goes': async ({ db, ask }) => {
    const table = await db.createTable('t', docs)
    const some = table
      .mergeInsert('id')
      .whenMatchedUpdateAll()
      .whenNotMatchedInsertAll()
      .whenNotMatchedBySourceDelete({ where: 'id > 2' })
    await ask('some', counts(some.execute([{ ...docs[1]!, text: 'only' }])))
    await ask('left', sortedRows(table, 'id', 'text'))
    const all = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedBySourceDelete()
    await ask('all', counts(all.execute([docs[0]!])))
    await ask('then left', sortedRows(table, 'id', 'text'))
    await ask('version', table.version())
  },

  'merging: some columns': async ({ db, ask }) => {
    const table = await db.createTable('t', docs)
    const fresh = new arrow.Table({
      id: arrow.vectorFromArray([1, 2], new arrow.Float64()),
      price: arrow.vectorFromArray([10, 20], new arrow.Float64()),
    })
    await ask('update', counts(table.mergeInsert('id').whenMatchedUpdateAll().execute(fresh)))
    await ask('rows', sortedRows(table, 'id', 'text', 'price'))
  },

  'merging: null keys and equal keys': async ({ db, ask, refused }) => {
    const table = await db.createTable(
      't',
      [
        { id: 1, n: 1 },
        { id: null, n: 2 },
        { id: 3, n: 3 },
        { id: 3, n: 4 },
      ],
      { schema: intSchema('id', 'n') },
    )
    const merge = () => table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll()
    await ask('of several rows with a key', counts(merge().execute([{ id: 3, n: 30 }])))
    await ask('rows', sortedRows(table, 'n', 'id'))
    await ask('a null key', counts(merge().execute([{ id: null, n: 20 }])))
    await ask('rows then', sortedRows(table, 'n', 'id'))
    const twice = [
      { id: 1, n: 5 },
      { id: 1, n: 6 },
    ]
    await refused('a key twice', () => merge().execute(twice), /./)
  },

  'merging: without saying what': async ({ db, refused }) => {
    const table = await db.createTable('t', docs)
    await refused('nothing', () => table.mergeInsert('id').execute(docs), /./)
    const merge = () => table.mergeInsert('idd').whenMatchedUpdateAll().execute(docs)
    await refused('no such column', merge, /idd/)
    await refused('no column', () => table.mergeInsert([]).whenMatchedUpdateAll().execute(docs), /./)
  },

  'merging: composite keys': async ({ db, ask, release }) => {
    const table = await db.createTable('t', pairs)
    // The older client sends one key alone.
    const merge = table.mergeInsert(release === '0.37' ? 'n' : ['id', 'part'])
    const fresh = [
      { id: 1, part: 'b', n: 21 },
      { id: 2, part: 'b', n: 40 },
    ]
    await ask('upsert', counts(merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(fresh)))
    await ask('rows', sortedRows(table, 'id', 'part', 'n'))
  },

  'merging with an index, and without': async ({ db, ask, lancedb }) => {
    const table = await db.createTable('t', docs)
    await table.createIndex('id', { config: lancedb.Index.btree() })
    for (const use of [true, false]) {
      const fresh = [{ ...docs[0]!, text: `index ${use}` }]
      const merge = table.mergeInsert('id').whenMatchedUpdateAll().useIndex(use)
      const { numUpdatedRows } = await merge.execute(fresh)
      await ask(`index ${use}`, numUpdatedRows)
    }
    await ask('rows', sortedRows(table, 'id', 'text'))
  },

  'every type': async ({ db, ask }) => {
    const table = await db.createTable('t', everyType())
    await ask('schema', table.schema())
    await ask('rows', table.toArrow())
    await table.add(everyType())
    await ask('twice', table.query().limit(10).toArrow())
  },

  'types of times and decimals': async ({ db, ask }) => {
    const schema = new arrow.Schema([
      ...[arrow.TimeUnit.SECOND, arrow.TimeUnit.MILLISECOND].map(
        unit => new arrow.Field(`time32 ${unit}`, new arrow.Time(unit, 32), true),
      ),
      ...[arrow.TimeUnit.MICROSECOND, arrow.TimeUnit.NANOSECOND].map(
        unit => new arrow.Field(`time64 ${unit}`, new arrow.Time(unit, 64), true),
      ),
      ...[0, 1, 2, 3].flatMap(unit => [
        new arrow.Field(`at ${unit}`, new arrow.Timestamp(unit), true),
        new arrow.Field(`at in Rome ${unit}`, new arrow.Timestamp(unit, 'Europe/Rome'), true),
        new arrow.Field(`for ${unit}`, new arrow.Duration(unit), true),
      ]),
      new arrow.Field('date64', new arrow.DateMillisecond(), true),
      new arrow.Field('decimal', new arrow.Decimal(2, 10, 128), true),
      new arrow.Field('bytes4', new arrow.FixedSizeBinary(4), true),
      new arrow.Field('vector16', vectorOf(new arrow.Float16(), 2), true),
      new arrow.Field('vector64', vectorOf(new arrow.Float64(), 2), true),
      new arrow.Field('bits', vectorOf(new arrow.Uint8(), 2), true),
    ])
    const table = await db.createEmptyTable('t', schema)
    await ask('schema', table.schema())
    await ask('empty', table.query().toArrow())
  },
}

function everyType(): arrow.Table {
  const struct = new arrow.Struct([
    new arrow.Field('x', new arrow.Int32(), true),
    new arrow.Field('y', new arrow.Utf8(), true),
  ])
  const ints = [arrow.Int8, arrow.Int16, arrow.Int32, arrow.Uint8, arrow.Uint16, arrow.Uint32] as const
  return new arrow.Table({
    ...Object.fromEntries(
      ints.map(Type => [`${Type.name}`, arrow.vectorFromArray([1, null, 3], new Type() as arrow.Int32)]),
    ),
    i64: arrow.vectorFromArray([-(2n ** 63n), null, 3n], new arrow.Int64()),
    u64: arrow.vectorFromArray([2n ** 64n - 1n, null, 3n], new arrow.Uint64()),
    f16: arrow.vectorFromArray([1, null, 0.5], new arrow.Float16()),
    f32: arrow.vectorFromArray([1.5, null, Number.NaN], new arrow.Float32()),
    f64: arrow.vectorFromArray([0.1, null, Number.NEGATIVE_INFINITY], new arrow.Float64()),
    bool: arrow.vectorFromArray([true, null, false], new arrow.Bool()),
    text: arrow.vectorFromArray(['ä', null, ''], new arrow.Utf8()),
    bytes: arrow.vectorFromArray([new Uint8Array([1, 2]), null, new Uint8Array()], new arrow.Binary()),
    day: arrow.vectorFromArray([new Date(0), null, new Date(86_400_000)], new arrow.DateDay()),
    at: arrow.vectorFromArray([1, null, 3], new arrow.TimestampMillisecond('UTC')),
    list: arrow.vectorFromArray([['a', null], null, []], listOf(new arrow.Utf8())),
    lists: arrow.vectorFromArray([[[1], []], null, [null]], listOf(listOf(new arrow.Int32()))),
    struct: arrow.vectorFromArray([{ x: 1, y: 'a' }, null, { x: null, y: 'c' }], struct),
    vector: arrow.vectorFromArray([[1, 2], null, [3, 4]], vectorOf(new arrow.Float32(), 2)),
    dictionary: arrow.vectorFromArray(
      ['a', null, 'a'],
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
    ),
  })
}

function listOf<T extends arrow.DataType>(type: T): arrow.List<T> {
  return new arrow.List(new arrow.Field('item', type, true))
}

function vectorOf<T extends arrow.DataType>(type: T, length: number): arrow.FixedSizeList<T> {
  return new arrow.FixedSizeList(length, new arrow.Field('item', type, true))
}

function intSchema(...names: string[]): arrow.Schema {
  return new arrow.Schema(names.map(name => new arrow.Field(name, new arrow.Int32(), true)))
}

/** What a merge says it did. */
async function counts(merge: Promise<MergeResult>): Promise<unknown> {
  const { numRows: _, ...rest } = await merge
  return rest
}

/** In the order of their first column: changes may put rows elsewhere. */
async function sortedRows(
  table: { query(): { toArray(): Promise<Record<string, unknown>[]> } },
  ...names: string[]
): Promise<unknown[][]> {
  const rows = await rowsOf(table.query(), ...names)
  return rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
