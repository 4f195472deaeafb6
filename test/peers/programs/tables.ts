/** Tables come and go: create, open, list, rename, drop. */
import * as arrow from 'apache-arrow'
import { accepted, type Program, rowsOf } from '../both.js'

const docs = [
  { id: 1, text: 'one', price: 1.5, vector: [1, 0, 0] },
  { id: 2, text: 'two', price: 2.5, vector: [0, 1, 0] },
]

export const tablePrograms: Readonly<Record<string, Program>> = {
  'a table is made and opened': async ({ db, ask }) => {
    const table = await db.createTable('t', docs)
    await ask('name', table.name)
    await ask('open', table.isOpen())
    await ask('version', table.version())
    await ask('schema', table.schema())
    await ask('rows', table.toArrow())
    const opened = await db.openTable('t')
    await ask('opened', opened.query().toArrow())
    await ask('branch', opened.currentBranch())
    opened.close()
    await ask('closed', opened.isOpen())
    await ask('connection', db.isOpen())
  },

  'by an object, and with a schema': async ({ db, ask, refused }) => {
    const schema = new arrow.Schema([
      new arrow.Field('id', new arrow.Int16(), false),
      new arrow.Field('text', new arrow.Utf8(), true),
    ])
    const table = await db.createTable({ name: 't', data: [{ id: 1, text: 'a' }], schema })
    await ask('rows', table.toArrow())
    await table.add([{ id: 2 }, { id: 3, text: null }])
    await ask('more rows', table.toArrow())
    await refused('a null where none may be', () => table.add([{ id: null, text: 'x' }]), /null/i)
    await refused('a column too many', () => table.add([{ id: 9, text: 'x', other: 1 }]), /other/)
    await ask('version', table.version())
  },

  'an empty table': async ({ db, ask }) => {
    const schema = new arrow.Schema(
      [new arrow.Field('id', new arrow.Int32(), true, new Map([['unit', 'cm']]))],
      new Map([['owner', 'me']]),
    )
    const table = await db.createEmptyTable('t', schema)
    await ask('version', table.version())
    await ask('schema', table.schema())
    await ask('rows', table.toArrow())
    await ask('count', table.countRows())
    await ask('add', table.add([{ id: 7 }]))
    await ask('rows later', rowsOf(table.query(), 'id'))
  },

  'a name that is taken': async ({ db, ask, refused }) => {
    await db.createTable('t', docs)
    await refused('again', () => db.createTable('t', docs), /already exists/)
    await refused('empty again', () => db.createEmptyTable('t', schemaOf('id')), /already exists/)
    const same = await db.createTable('t', docs.slice(1), { existOk: true })
    await ask('as it was', same.countRows())
    const other = await db.createTable('t', [{ id: 9, more: 'x' }], { mode: 'overwrite' })
    await ask('replaced', other.query().toArrow())
    await ask('version', other.version())
    await ask('versions', versions(other))
  },

  'a table that is not there': async ({ db, refused }) => {
    await refused('open', () => db.openTable('t'), /not found/)
    await refused('drop', () => db.dropTable('t'), /not found|no table/)
  },

  'a dropped table': async ({ db, ask, refused }) => {
    const table = await db.createTable('t', docs)
    await table.add(docs)
    await ask('drop', db.dropTable('t'))
    await ask('names', db.tableNames())
    await refused('read on', () => table.countRows(), /not found|no such|NotFound/i)
    const again = await db.createTable('t', docs.slice(1))
    await ask('version', again.version())
    await ask('rows', again.query().toArrow())
  },

  'names in pages': async ({ db, ask, release }) => {
    for (const name of ['c', 'a', 'e', 'b', 'd']) await db.createEmptyTable(name, schemaOf('id'))
    await ask('all', db.tableNames())
    await ask('two', db.tableNames({ limit: 2 }))
    await ask('two more', db.tableNames({ limit: 2, startAfter: 'b' }))
    await ask('after one that is not there', db.tableNames({ startAfter: 'bb' }))
    await ask('after the last', db.tableNames({ startAfter: 'e' }))
    // The older client cannot ask for a page token.
    if (release === '0.37') return
    const walked: string[] = []
    let pageToken: string | undefined
    do {
      const page = await db.listTables({ limit: 2, ...(pageToken && { pageToken }) })
      walked.push(...page.tables)
      pageToken = page.pageToken ?? undefined
    } while (pageToken)
    await ask('walked', walked)
    await ask('listed at once', (await db.listTables()).tables)
  },

  'odd names': async ({ db, ask }) => {
    for (const name of ['UPPER', 'a-b_c.d', 'x'.repeat(60), '7']) {
      await db.createTable(name, [{ id: 1 }])
      await ask(name, (await db.openTable(name)).countRows())
    }
    await ask('names', db.tableNames())
    await ask('with a space', accepted(db.createTable('a b', [{ id: 1 }])))
  },

  'names no table can have': async ({ db, refused }) => {
    for (const name of ['', 'a/b']) {
      await refused(`create ${name}`, () => db.createTable(name, [{ id: 1 }]), /./)
    }
  },

  'embeddings and other metadata': async ({ db, ask }) => {
    const metadata = new Map([['embedding_functions', '[{"name":"x","sourceColumn":"text"}]']])
    const fields = [
      new arrow.Field('text', new arrow.Utf8(), true, new Map([['lancedb:description', 'words']])),
      new arrow.Field('n', new arrow.Float64(), true),
    ]
    const sent = new arrow.Table(new arrow.Schema(fields, metadata), {
      text: arrow.vectorFromArray(['a'], new arrow.Utf8()),
      n: arrow.vectorFromArray([1], new arrow.Float64()),
    })
    const table = await db.createTable('t', sent)
    await ask('schema', table.schema())
    await ask('metadata of rows', [...(await table.toArrow()).schema.metadata.keys()])
    await table.updateFieldMetadata([{ path: 'n', metadata: { unit: 'cm', note: 'x' } }])
    await table.updateFieldMetadata([{ path: 'n', metadata: { note: null } }])
    await ask('added', (await db.openTable('t')).schema())
    await ask('replaced', table.updateFieldMetadata([{ path: 'n', metadata: { only: '1' }, replace: true }]))
    await ask('version', table.version())
  },

  statistics: async ({ db, ask }) => {
    const table = await db.createTable('t', docs)
    for (let i = 0; i < 3; i++) await table.add(docs)
    await table.delete('id = 2')
    const { numRows, numIndices, fragmentStats } = await table.stats()
    const { lengths, numFragments, numSmallFragments } = fragmentStats
    await ask('counts', { numRows, numIndices, numFragments, numSmallFragments })
    await ask('lengths', [lengths.min, lengths.mean, lengths.p50, lengths.max])
    await ask('ids', rowsOf(table.query(), 'id'))
  },
}

export function schemaOf(...names: string[]): arrow.Schema {
  return new arrow.Schema(names.map(name => new arrow.Field(name, new arrow.Int32(), true)))
}

export async function versions(table: { listVersions(): Promise<{ version: number }[]> }): Promise<number[]> {
  return (await table.listVersions()).map(({ version }) => version).sort((a, b) => a - b)
}
