/** Columns come, change and go. */
import * as arrow from 'apache-arrow'
import { accepted, type Program, rowsOf } from '../both.js'
import { versions } from './tables.js'

const docs = [
  { id: 1, text: 'one', price: 1.5, inner: { a: 1, b: 'x' } },
  { id: 2, text: 'two', price: 2.5, inner: { a: 2, b: 'y' } },
]

export const columnPrograms: Readonly<Record<string, Program>> = {
  'columns are added': async ({ db, ask, refused }) => {
    const table = await db.createTable('t', docs)
    await ask('one', table.addColumns([{ name: 'double', valueSql: 'price * 2' }]))
    const several = [
      { name: 'none', valueSql: 'cast(NULL as string)' },
      { name: 'up', valueSql: 'upper(text)' },
      { name: 'whole', valueSql: 'cast(price * 2 as bigint)' },
    ]
    await ask('several', table.addColumns(several))
    await ask('rows', table.query().toArrow())
    const cut = table.addColumns([{ name: 'cut', valueSql: 'cast(price as bigint)' }])
    await ask('a cast that loses', accepted(cut))
    const taken = () => table.addColumns([{ name: 'text', valueSql: '1' }])
    await refused('a name that is taken', taken, /text/)
    const unknown = () => table.addColumns([{ name: 'x', valueSql: 'nowhere + 1' }])
    await refused('of a column that is not there', unknown, /nowhere/)
    await table.add([{ ...docs[0]!, id: 3 }])
    await ask('rows that came later', rowsOf(table.query().where('id = 3'), 'double', 'up', 'text'))
  },

  'columns are altered': async ({ db, ask, refused }) => {
    const table = await db.createTable('t', docs)
    await ask('renamed', table.alterColumns([{ path: 'text', rename: 'title' }]))
    await ask('cast', table.alterColumns([{ path: 'price', dataType: 'float' }]))
    await ask('cast by a type', table.alterColumns([{ path: 'id', dataType: new arrow.Float16() }]))
    await ask('rows', table.query().toArrow())
    await ask('nested', table.alterColumns([{ path: 'inner.a', rename: 'c' }]))
    await ask('all at once', table.alterColumns([{ path: 'id', rename: 'key', nullable: true }]))
    await ask('schema', (await db.openTable('t')).schema())
    await ask('rows then', table.query().toArrow())
    const missing = () => table.alterColumns([{ path: 'nowhere', rename: 'x' }])
    await refused('a column that is not there', missing, /nowhere/)
    const taken = () => table.alterColumns([{ path: 'title', rename: 'price' }])
    await refused('a name that is taken', taken, /price/)
    const text = () => table.alterColumns([{ path: 'title', dataType: 'int32' }])
    await refused('what is no number', text, /./)
    await ask('versions', versions(table))
  },

  'columns are dropped': async ({ db, ask, refused }) => {
    const table = await db.createTable('t', docs)
    await ask('one', table.dropColumns(['price']))
    await ask('rows', table.query().toArrow())
    await ask('nested', table.dropColumns(['inner.a']))
    await ask('rows then', table.query().toArrow())
    await refused('a column that is not there', () => table.dropColumns(['nowhere']), /nowhere/)
    await refused('all', () => table.dropColumns(['id', 'text', 'inner']), /./)
    await refused('ask for it', () => table.query().where('price > 1').toArray(), /price/)
    await ask('versions', versions(table))
    await table.add([{ id: 3, text: 'three', inner: { b: 'z' } }])
    await ask('rows later', rowsOf(table.query(), 'id', 'text', 'inner'))
  },

  'a column that is dropped and added again': async ({ db, ask }) => {
    const table = await db.createTable('t', docs)
    await table.dropColumns(['text'])
    await table.addColumns([{ name: 'text', valueSql: "'new'" }])
    await ask('rows', rowsOf(table.query(), 'id', 'text'))
    await table.checkout(1)
    await ask('rows of old', rowsOf(table.query(), 'id', 'text'))
  },
}
