/** LanceDB's remote client against its own engine: programs, and what both are answered. */
import { describe, expect, test } from 'vitest'
import { temporaryRoots } from '../support/roots.js'
import { expectBothSame, type Program } from './both.js'
import { differences } from './both-differences.js'
import { releases, servers } from './peers.js'
import { columnPrograms } from './programs/columns.js'
import { indexPrograms } from './programs/indexes.js'
import { namespacePrograms } from './programs/namespaces.js'
import { queryPrograms } from './programs/queries.js'
import { rowPrograms } from './programs/rows.js'
import { tablePrograms } from './programs/tables.js'
import { versionPrograms } from './programs/versions.js'

const serveRoot = servers()
const freshFolder = temporaryRoots()

const programs: Readonly<Record<string, Program>> = {
  ...tablePrograms,
  ...rowPrograms,
  ...queryPrograms,
  ...columnPrograms,
  ...versionPrograms,
  ...indexPrograms,
}

describe.each(releases)('remote client $release', client => {
  const { lancedb } = client

  test.each(Object.entries(programs))('%s', async (...program) => {
    const local = await lancedb.connect(freshFolder())
    await expectBothSame(client, await serveRoot(), local, program, differences)
  })

  test.each(Object.entries(namespacePrograms))('%s', async (...program) => {
    const local = await lancedb.connectNamespace('dir', { root: freshFolder() })
    await expectBothSame(client, await serveRoot(), local, program, differences)
  })
})

test('each difference is one of a program there is', () => {
  const names = Object.keys({ ...programs, ...namespacePrograms })
  const strays = Object.keys(differences).filter(key => !names.some(name => key.startsWith(`${name}: `)))
  expect(strays).toEqual([])
})
