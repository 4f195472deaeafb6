/**
 * The tests of the engine with roots in object storage: for each server another share of them, chosen by `SHEAF_SEED`.
 * `SHEAF_STORES_SHARE=1` runs all of them on each server.
 */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { type ConnectOptions, connect, type Namespace, sql } from '../../src/index.js'
import { catalogSuite } from '../suites/catalog.js'
import { changesSuite } from '../suites/changes.js'
import { columnSuite } from '../suites/columns.js'
import { editSuite } from '../suites/edits.js'
import { idempotencySuite } from '../suites/idempotency.js'
import { indexSuite } from '../suites/indexes.js'
import { ingestSuite } from '../suites/ingest.js'
import { namespaceSuite } from '../suites/namespace.js'
import { queriesSuite } from '../suites/queries.js'
import { snapshotsSuite } from '../suites/snapshots.js'
import { takesSuite } from '../suites/takes.js'
import { transactionsSuite } from '../suites/transactions.js'
import { uploadSuite } from '../suites/uploads.js'
import { vectorIndexSuite } from '../suites/vector-indexes.js'
import { viewsSuite } from '../suites/views.js'
import type { Door, OpenedRoot } from '../support/transports.js'
import { providers } from './providers.js'
import { Server } from './server.js'

const share = Number(process.env.SHEAF_STORES_SHARE ?? 0.03)
const seed = process.env.SHEAF_SEED ?? '1'

/** Return whether a test belongs to the share of a server. */
function isChosen(server: string, name: string): boolean {
  const digest = createHash('sha256').update(`${seed} ${server} ${name}`).digest()
  return digest.readUInt32BE() < share * 2 ** 32
}

describe.each(providers.filter(({ program }) => program !== null))('on $name', provider => {
  let server: Server
  let roots = 0

  beforeAll(async () => {
    server = await Server.start(provider.program!)
    await provider.createBucket(server.url)
  })
  afterAll(() => server?.stop())
  beforeEach(context => context.skip(!isChosen(provider.name, context.task.name)))

  const open = async (): Promise<OpenedRoot> => {
    const prefix = `roots/${roots++}`
    const path = provider.path(prefix)
    const storage = provider.storage(server.url)
    const others: Namespace[] = []
    const closeOthers = async () => {
      for (const ns of others.splice(0)) await ns.close()
    }
    let ns = await connect(path, { storage })
    return {
      get ns() {
        return ns
      },
      sql,
      store: await provider.open(server.url, { prefix }),
      async another(options: ConnectOptions = {}) {
        const other = await connect(path, { ...options, storage })
        others.push(other)
        return other
      },
      closeOthers,
      async reopen() {
        await ns.close()
        ns = await connect(path, { storage })
        return ns
      },
      async close() {
        await closeOthers()
        await ns.close()
      },
    }
  }
  const door: Door = { name: 'in a bucket', isLocal: true, isOnDisk: false, open }

  for (const suite of [
    catalogSuite,
    changesSuite,
    idempotencySuite,
    indexSuite,
    ingestSuite,
    queriesSuite,
    snapshotsSuite,
    takesSuite,
    transactionsSuite,
    vectorIndexSuite,
    viewsSuite,
  ]) {
    suite(door)
  }
  for (const suite of [columnSuite, editSuite, namespaceSuite, uploadSuite]) suite(suite.name, open)
})
