/** Indexes are made, listed, asked and taken away. */
import type { Index as IndexConfig } from '@lancedb/lancedb'
import { type Program, rowsOf } from '../both.js'

const rows = Array.from({ length: 300 }, (_, id) => ({
  id,
  group: `g${id % 5}`,
  flag: id % 2 === 0,
  tags: [`t${id % 3}`],
  text: id % 3 === 0 ? `sheaf ${id}` : `arrow ${id}`,
  vector: [Math.cos(id), Math.sin(id), id / 300, 1],
}))
const waitTimeoutSeconds = 60

export const indexPrograms: Readonly<Record<string, Program>> = {
  'every kind': async ({ db, ask, lancedb, refused }) => {
    const { Index } = lancedb
    const table = await db.createTable('t', rows)
    await ask('none', table.listIndices())
    await table.createIndex('id', { config: Index.btree() })
    await table.createIndex('group', { config: Index.bitmap() })
    await table.createIndex('tags', { config: Index.labelList() })
    await table.createIndex('text', { config: Index.fts() })
    await table.createIndex('vector', { config: Index.ivfFlat({ numPartitions: 2 }) })
    const names = ['id_idx', 'group_idx', 'tags_idx', 'text_idx', 'vector_idx']
    await table.waitForIndex(names, waitTimeoutSeconds)
    const listed = (await table.listIndices()).map(({ name, indexType, columns }) => ({
      name,
      type: bare(indexType),
      columns,
    }))
    await ask(
      'listed',
      listed.sort((a, b) => (a.name < b.name ? -1 : 1)),
    )
    for (const name of names) {
      const stats = (await table.indexStats(name))!
      const { indexType, numIndexedRows, numUnindexedRows, distanceType, numIndices } = stats
      await ask(name, { type: bare(indexType), numIndexedRows, numUnindexedRows, distanceType, numIndices })
    }
    await ask('stats of none', table.indexStats('nothing'))
    const { numIndices } = await table.stats()
    await ask('counted', numIndices)
    for (const filter of [
      'id = 77',
      "`group` = 'g3' AND id < 20",
      "array_has_any(tags, ['t1']) AND id < 9",
    ]) {
      await ask(filter, rowsOf(table.query().where(filter), 'id'))
    }
    await ask('nearest', rowsOf(table.vectorSearch(rows[7]!.vector).nprobes(2).limit(1), 'id'))
    await ask('words', (await rowsOf(table.search('sheaf', 'fts', 'text').limit(200), 'id')).length)
    await ask('tokens', table.tokenize('The Running sheaves', { column: 'text' }))
    await ask('tokens by index', table.tokenize('arrow 7', { indexName: 'text_idx' }))
    await refused('tokens of none', () => table.tokenize('x', { column: 'group' }), /group|index/i)
    for (const name of names) await table.dropIndex(name)
    await ask('none left', table.listIndices())
    await refused('drop none', () => table.dropIndex('id_idx'), /id_idx/)
    await ask('rows as before', rowsOf(table.query().where('id = 77'), 'id'))
  },

  'names, and one instead of another': async ({ db, ask, lancedb, refused }) => {
    const { Index } = lancedb
    const table = await db.createTable('t', rows)
    await table.createIndex('group', { config: Index.btree(), name: 'mine', waitTimeoutSeconds })
    await ask(
      'named',
      (await table.listIndices()).map(({ name }) => name),
    )
    await table.createIndex('group', { config: Index.bitmap(), name: 'mine', waitTimeoutSeconds })
    await ask(
      'replaced',
      (await table.listIndices()).map(({ indexType }) => bare(indexType)),
    )
    const keep = () => table.createIndex('group', { config: Index.btree(), name: 'mine', replace: false })
    await refused('not to be replaced', keep, /mine.*already|already.*mine/)
    const other = () => table.createIndex('id', { config: Index.btree(), name: 'mine', replace: false })
    await refused('of another column', other, /mine/)
  },

  'without a word': async ({ db, ask }) => {
    const table = await db.createTable('t', rows)
    await table.createIndex('id', { waitTimeoutSeconds })
    await table.createIndex('vector', { waitTimeoutSeconds })
    const listed = (await table.listIndices()).map(({ name, indexType }) => [name, bare(indexType)])
    await ask('kinds', listed.sort())
  },

  'rows that come later': async ({ db, ask, lancedb }) => {
    const { Index } = lancedb
    const table = await db.createTable('t', rows)
    await table.createIndex('id', { config: Index.btree(), waitTimeoutSeconds })
    await table.add([{ ...rows[0]!, id: 1000 }])
    await table.delete('id = 5')
    await table.update({ where: 'id = 6', values: { id: 2000 } })
    await ask(
      'found',
      rowsOf(table.query().where('id >= 300 OR id IN (5, 6, 7)'), 'id').then(ids => ids.sort()),
    )
    const { numIndexedRows, numUnindexedRows } = (await table.indexStats('id_idx'))!
    await ask('unindexed', numUnindexedRows)
    await ask('indexed', numIndexedRows)
  },

  'what cannot be': async ({ db, lancedb, refused }) => {
    const { Index } = lancedb
    const table = await db.createTable('t', rows)
    const make = (column: string, config: IndexConfig) => () => table.createIndex(column, { config })
    await refused('no such column', make('nowhere', Index.btree()), /nowhere/)
    await refused('words of numbers', make('id', Index.fts()), /id|float64|Float64/)
    await refused('vectors of text', make('text', Index.ivfFlat()), /text|Utf8/i)
    await refused('labels of no list', make('group', Index.labelList()), /group|Utf8|list/i)
    await refused('an order of vectors', make('vector', Index.btree()), /./)
    await refused('wait for none', () => table.waitForIndex(['nothing'], 1), /nothing|timed? ?out/i)
  },
}

/** Releases and engines write kinds one way or the other: IVF_FLAT, IvfFlat. */
function bare(type: string | undefined): string {
  return type?.toUpperCase().replace(/[^A-Z]/g, '') ?? ''
}
