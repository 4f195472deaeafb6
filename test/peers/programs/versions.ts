/** Versions and tags. */
import type { Connection, Table } from '@lancedb/lancedb'
import { type Program, rowsOf } from '../both.js'
import { versions } from './tables.js'

async function threeVersions(db: Connection): Promise<Table> {
  const table = await db.createTable('t', [{ id: 1 }])
  await table.add([{ id: 2 }])
  await table.delete('id = 1')
  return table
}

export const versionPrograms: Readonly<Record<string, Program>> = {
  'versions are looked at': async ({ db, ask, refused }) => {
    const table = await threeVersions(db)
    await ask('version', table.version())
    await ask('list', versions(table))
    for (const version of [1, 2, 3]) {
      await table.checkout(version)
      await ask(`version at ${version}`, table.version())
      await ask(`rows of ${version}`, rowsOf(table.query(), 'id'))
      await ask(`count of ${version}`, table.countRows())
      await ask(`schema of ${version}`, table.schema())
    }
    await table.checkout(1)
    for (const [name, call] of Object.entries({
      add: () => table.add([{ id: 9 }]),
      update: () => table.update({ values: { id: 1 } }),
      delete: () => table.delete('true'),
      'add columns': () => table.addColumns([{ name: 'x', valueSql: '1' }]),
      'drop columns': () => table.dropColumns(['id']),
    })) {
      await refused(name, call, /check(ed )?out|specific version/i)
    }
    await refused('a version that is not there', () => table.checkout(99), /99|not found/i)
    await table.checkoutLatest()
    await ask('latest', rowsOf(table.query(), 'id'))
    await ask('latest version', table.version())
  },

  'a version is opened': async ({ db, ask, refused, release }) => {
    await threeVersions(db)
    // The older client has no such option.
    if (release === '0.37') return
    const table = await db.openTable('t', [], { version: 2 })
    await ask('rows', rowsOf(table.query(), 'id'))
    await refused('write', () => table.add([{ id: 3 }]), /check(ed )?out|specific version/i)
    await refused('none', () => db.openTable('t', [], { version: 7 }), /7|not found/i)
  },

  'versions are restored': async ({ db, ask, refused }) => {
    const table = await threeVersions(db)
    await table.checkout(2)
    await ask('restore', table.restore())
    await ask('version', table.version())
    await ask('rows', rowsOf(table.query(), 'id'))
    await ask('write on', table.add([{ id: 4 }]))
    await ask('list', versions(table))
    await refused('what is the latest', () => table.restore(), /./)
  },

  'times of versions': async ({ db, ask }) => {
    const before = Date.now()
    const table = await threeVersions(db)
    const listed = await table.listVersions()
    const times = listed.map(({ timestamp }) => timestamp.getTime())
    await ask(
      'are times',
      times.every(time => time >= before - 1000 && time <= Date.now() + 1000),
    )
    await ask(
      'ascend',
      times.every((time, i) => i === 0 || time >= times[i - 1]!),
    )
    await ask(
      'metadata',
      listed.map(({ metadata }) => typeof metadata),
    )
  },

  tags: async ({ db, ask, refused }) => {
    const table = await threeVersions(db)
    const tags = await table.tags()
    await ask('none', tags.list())
    await tags.create('a', 1)
    await tags.create('b-2.x_y', 2)
    const list = async () =>
      Object.entries(await tags.list())
        .map(([name, { version }]) => [name, version])
        .sort()
    await ask('list', list())
    await ask('version', tags.getVersion('a'))
    await refused('again', () => tags.create('a', 2), /a.*already|already.*a/i)
    await refused('of no version', () => tags.create('c', 77), /77/)
    await refused('unknown', () => tags.getVersion('nothing'), /nothing/)
    await refused('move unknown', () => tags.update('nothing', 1), /nothing/)
    await refused('drop unknown', () => tags.delete('nothing'), /nothing/)
    await tags.update('a', 3)
    await ask('moved', list())
    await table.checkout('b-2.x_y')
    await ask('rows', rowsOf(table.query(), 'id'))
    await ask('version by tag', table.version())
    await refused('checkout unknown', () => table.checkout('nothing'), /nothing/)
    await table.checkoutLatest()
    await tags.delete('a')
    await ask('left', list())
    for (const name of ['', 'with space', 'a/b', '..']) {
      await refused(`the name ${JSON.stringify(name)}`, () => tags.create(name, 1), /./)
    }
    await ask('are no versions', table.version())
  },
}
