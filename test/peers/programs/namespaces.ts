/** Namespaces, and tables in them. */
import { accepted, type Program, rowsOf } from '../both.js'

const docs = [{ id: 1 }, { id: 2 }]

export const namespacePrograms: Readonly<Record<string, Program>> = {
  'namespaces are made, listed and dropped': async ({ db, ask, refused }) => {
    await ask('none', db.listNamespaces([]))
    await ask('made', (await db.createNamespace(['a'], { properties: { owner: 'me' } })).properties)
    await db.createNamespace(['b'])
    await db.createNamespace(['a', 'c'])
    await ask('described', db.describeNamespace(['a']))
    await ask('described without properties', (await db.describeNamespace(['b'])).properties ?? {})
    await ask('listed', db.listNamespaces([]))
    await ask('listed within', db.listNamespaces(['a']))
    await ask('listed by default', db.listNamespaces())
    await refused('again', () => db.createNamespace(['a'], { mode: 'create' }), /already exists/)
    await ask('once more', accepted(db.createNamespace(['a'], { mode: 'exist_ok' })))
    await refused('below none', () => db.createNamespace(['x', 'y']), /x/)
    await refused('describe none', () => db.describeNamespace(['x']), /x/)
    await refused('drop none', () => db.dropNamespace(['x']), /x/)
    await ask('list in none', accepted(db.listNamespaces(['x'])))
    await refused('drop a full one', () => db.dropNamespace(['a']), /./)
    await ask('drop', accepted(db.dropNamespace(['a', 'c'])))
    await db.dropNamespace(['a'])
    await ask('left', db.listNamespaces([]))
  },

  'in pages': async ({ db, ask }) => {
    for (const name of ['c', 'a', 'd', 'b']) await db.createNamespace([name])
    const walked: string[] = []
    let pageToken: string | undefined
    do {
      const page = await db.listNamespaces([], { limit: 3, ...(pageToken && { pageToken }) })
      walked.push(...page.namespaces)
      pageToken = page.pageToken ?? undefined
    } while (pageToken)
    await ask('walked', walked)
  },

  'tables in namespaces': async ({ db, ask, refused, release }) => {
    await db.createNamespace(['a'])
    await db.createNamespace(['a', 'b'])
    const table = await db.createTable('t', docs, ['a', 'b'])
    await ask('add', table.add(docs))
    await db.createEmptyTable('e', await table.schema(), ['a'])
    await ask('names', db.tableNames(['a', 'b']))
    await ask('names above', db.tableNames(['a']))
    await ask('names at the root', db.tableNames([]))
    if (release !== '0.37') await ask('listed', db.listTables(['a', 'b']))
    await ask('opened', rowsOf((await db.openTable('t', ['a', 'b'])).query(), 'id'))
    await refused('elsewhere', () => db.openTable('t', ['a']), /not found/)
    await ask('in no namespace', accepted(db.createTable('t', docs, ['x'])))
    await refused('again', () => db.createTable('t', docs, ['a', 'b']), /already exists/)
    await ask('the same name', (await db.createTable('t', docs.slice(1), ['a'])).countRows())
    await refused('drop what holds a table', () => db.dropNamespace(['a', 'b']), /./)
    await db.dropTable('t', ['a', 'b'])
    await ask('left', db.tableNames(['a', 'b']))
    await db.dropNamespace(['a', 'b'])
    await ask('the other', (await db.openTable('t', ['a'])).countRows())
  },
}
