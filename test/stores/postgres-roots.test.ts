/** The behaviour of whole roots whose log is in PostgreSQL, with files in a directory and in a bucket. */
import { afterAll, beforeAll, describe } from 'vitest'
import { openPostgresLog } from '../../adapters/postgres/public.js'
import { type ConnectOptions, connect, type Namespace, sql } from '../../src/index.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { FileStore } from '../../src/storage/file-store.js'
import { changesSuite } from '../suites/changes.js'
import { editSuite } from '../suites/edits.js'
import { idempotencySuite } from '../suites/idempotency.js'
import { ingestSuite } from '../suites/ingest.js'
import { namespaceSuite } from '../suites/namespace.js'
import { snapshotsSuite } from '../suites/snapshots.js'
import { transactionsSuite } from '../suites/transactions.js'
import { uploadSuite } from '../suites/uploads.js'
import { versionsAndTagsModel } from '../suites/versions-and-tags.js'
import { viewsSuite } from '../suites/views.js'
import { temporaryRoots } from '../support/roots.js'
import type { Door, OpenedRoot } from '../support/transports.js'
import { PostgresServer, postgresFolder } from './postgres-server.js'
import { providers } from './providers.js'
import { Server } from './server.js'

/** Open a root with a log of its own. */
async function openRoot(store: BlobStore, path: string, config: object, root: string): Promise<OpenedRoot> {
  const openLog = () => openPostgresLog({ config: { ...config, max: 3 }, root })
  const connectTo = async (options: ConnectOptions = {}) => {
    return connect(path, { store, ...options, log: await openLog() })
  }
  const others: Namespace[] = []
  const closeOthers = async () => {
    for (const ns of others.splice(0)) await ns.close()
  }
  let current = await connectTo()
  const log = await openLog()
  return {
    get ns() {
      return current
    },
    sql,
    store,
    log,
    async another(options) {
      const ns = await connectTo(options)
      others.push(ns)
      return ns
    },
    closeOthers,
    async reopen() {
      await current.close()
      current = await connectTo()
      return current
    },
    async close() {
      await closeOthers()
      await current.close()
      await log.close!()
    },
  }
}

describe.runIf(postgresFolder !== null)('a root with a log in PostgreSQL', () => {
  let postgres: PostgresServer
  let roots = 0
  beforeAll(async () => {
    postgres = await PostgresServer.start()
  })
  afterAll(() => postgres?.stop())

  const freshRoot = temporaryRoots()
  const openDirectory = async () => {
    const path = freshRoot()
    const store = await FileStore.open(path, { create: true, readOnly: false })
    return openRoot(store, path, postgres.config, `root ${roots++}`)
  }
  const directory: Door = {
    name: 'in a directory, with a log in PostgreSQL',
    isLocal: true,
    isOnDisk: true,
    open: openDirectory,
  }
  namespaceSuite(directory.name, openDirectory)
  transactionsSuite(directory)
  idempotencySuite(directory)
  snapshotsSuite(directory)
  changesSuite(directory)
  ingestSuite(directory)
  viewsSuite(directory)
  editSuite(directory.name, openDirectory)
  uploadSuite(directory.name, openDirectory)
  versionsAndTagsModel(directory.name, openDirectory, 20)

  const minio = providers.find(({ name, program }) => name === 'MinIO' && program !== null)
  describe.runIf(minio !== undefined)('with files in a bucket', () => {
    let server: Server
    beforeAll(async () => {
      server = await Server.start(minio!.program!)
      await minio!.createBucket(server.url)
    })
    afterAll(() => server?.stop())

    const openBucket = async () => {
      const prefix = `roots/r${roots++}`
      const store = await minio!.open(server.url, { prefix })
      return openRoot(store, minio!.path(prefix), postgres.config, prefix)
    }
    const bucket: Door = {
      name: 'in a bucket, with a log in PostgreSQL',
      isLocal: true,
      isOnDisk: false,
      open: openBucket,
    }
    namespaceSuite(bucket.name, openBucket)
    transactionsSuite(bucket)
    idempotencySuite(bucket)
    snapshotsSuite(bucket)
    changesSuite(bucket)
    editSuite(bucket.name, openBucket)
  })
})
