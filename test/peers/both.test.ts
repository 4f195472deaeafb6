/** LanceDB's clients on Sheaf, and LanceDB in a directory: programs, and what both are answered. */
import { describe, expect, test } from 'vitest'
import { temporaryRoots } from '../support/roots.js'
import { expectBothSame, type Program } from './both.js'
import { differences } from './both-differences.js'
import { connectEngine, connectRemote, releases, servers } from './peers.js'
import { columnPrograms } from './programs/columns.js'
import { indexPrograms } from './programs/indexes.js'
import { namespacePrograms } from './programs/namespaces.js'
import { queryPrograms } from './programs/queries.js'
import { rowPrograms } from './programs/rows.js'
import { tablePrograms } from './programs/tables.js'
import { versionPrograms } from './programs/versions.js'

const serveRoot = servers()
const freshFolder = temporaryRoots()

/** What becomes of tables, which the catalog has a part in. */
const catalogPrograms: Readonly<Record<string, Program>> = {
  ...tablePrograms,
  ...rowPrograms,
  ...columnPrograms,
  ...versionPrograms,
  ...indexPrograms,
}
const programs = { ...catalogPrograms, ...queryPrograms }

describe.each(releases)('remote client $release', ({ release, lancedb }) => {
  const client = { release, lancedb, kind: 'remote' } as const

  test.each(Object.entries(programs))('%s', async (...program) => {
    const local = await lancedb.connect(freshFolder())
    const sheaf = await connectRemote(lancedb, (await serveRoot()).url)
    await expectBothSame(client, program, sheaf, local, differences)
  })

  test.each(Object.entries(namespacePrograms))('%s', async (...program) => {
    const local = await lancedb.connectNamespace('dir', { root: freshFolder() })
    const sheaf = await connectRemote(lancedb, (await serveRoot()).url)
    await expectBothSame(client, program, sheaf, local, differences)
  })
})

// Queries of the engine never reach its catalog.
describe.each(releases)('engine $release', ({ release, lancedb }) => {
  const client = { release, lancedb, kind: 'engine' } as const

  test.each(Object.entries(catalogPrograms))('%s', async (...program) => {
    const local = await lancedb.connect(freshFolder())
    const sheaf = await connectEngine(lancedb, (await serveRoot()).url)
    await expectBothSame(client, program, sheaf, local, differences)
  })

  test.each(Object.entries(namespacePrograms))('%s', async (...program) => {
    const local = await lancedb.connectNamespace('dir', { root: freshFolder() })
    const sheaf = await connectEngine(lancedb, (await serveRoot()).url)
    await expectBothSame(client, program, sheaf, local, differences)
  })
})

test('each difference is one of a program there is', () => {
  const names = Object.keys({ ...programs, ...namespacePrograms })
  const strays = Object.keys(differences).filter(key => !names.some(name => key.startsWith(`${name}: `)))
  expect(strays).toEqual([])
})
