/** Ways to reach a fresh, empty namespace. */

import { afterAll } from 'vitest'
import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import type { ConnectWorkerOptions } from '../../adapters/worker/client.js'
import type { CommitLog } from '../../src/commit/commit-log.js'
import { type ConnectOptions, connect, type Namespace, sql } from '../../src/index.js'
import type { SqlTag } from '../../src/sql/syntax/tag.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { FileStore } from '../../src/storage/file-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { shipped } from '../adapters/built.js'
import type { OpenedNamespace } from '../suites/namespace.js'

/** A namespace whose root can be reached by other ways too. */
export interface OpenedRoot extends OpenedNamespace {
  /** Another one after `reopen`. */
  readonly ns: Namespace
  /** The bytes of the root, where other engines would put theirs. */
  readonly store: BlobStore
  /** The log, if it is not in the store. */
  readonly log?: CommitLog
  /** One more opener, as another process would be. */
  readonly another: (options?: ConnectOptions) => Promise<Namespace>
  /** Closes those. */
  readonly closeOthers: () => Promise<void>
  /** Ends what is open, and opens the root again in the same way. */
  readonly reopen: () => Promise<Namespace>
}

export interface Door {
  readonly name: string
  /** Whether `ns` does what needs the root itself: snapshots, transactions, watching. */
  readonly isLocal: boolean
  /** Whether the root is a directory. */
  readonly isOnDisk: boolean
  readonly open: () => Promise<OpenedRoot>
}

let memoryRoots = 0
const freshMemory = () => `memory://door-${memoryRoots++}`

/** Every way to reach a namespace. `freshRoot` gives a directory that is not there yet. Call at the top of a test file. */
export function doors(freshRoot: () => string): readonly Door[] {
  const worker = reused(() => openRoot(freshRoot(), inWorker))
  return [
    { name: 'in memory', isLocal: true, isOnDisk: false, open: () => openRoot(freshMemory(), directly) },
    { name: 'in a directory', isLocal: true, isOnDisk: true, open: () => openRoot(freshRoot(), directly) },
    { name: 'over HTTP', isLocal: false, isOnDisk: false, open: () => openRoot(freshMemory(), overHttp) },
    { name: 'in a worker', isLocal: true, isOnDisk: true, open: worker },
  ]
}

/** Opens once and empties between tests: a worker takes longer to start than most tests to run. */
function reused(open: () => Promise<OpenedRoot>): () => Promise<OpenedRoot> {
  let root: OpenedRoot | undefined
  afterAll(() => root?.close())
  const close = async () => {
    await root!.closeOthers()
    for (const name of await root!.ns.namespaceNames()) {
      await root!.ns.dropNamespace([name], { behavior: 'cascade' })
    }
    for (const name of await root!.ns.tableNames()) await root!.ns.dropTable([name])
  }
  return async () => {
    root ??= await open()
    return Object.create(root, { close: { value: close } }) as OpenedRoot
  }
}

type Open = (path: string) => Promise<OpenedNamespace>

async function openRoot(path: string, open: Open): Promise<OpenedRoot> {
  const store = path.startsWith('memory:')
    ? MemoryStore.open(path)
    : await FileStore.open(path, { create: true, readOnly: false })
  const others: Namespace[] = []
  const closeOthers = async () => {
    for (const ns of others.splice(0)) await ns.close()
  }
  let current = await open(path)
  return {
    get ns() {
      return current.ns
    },
    sql: current.sql,
    store,
    async another(options) {
      const ns = await connect(path, options)
      others.push(ns)
      return ns
    },
    closeOthers,
    async reopen() {
      await current.close()
      current = await open(path)
      return current.ns
    },
    async close() {
      await closeOthers()
      await current.close()
      // One in memory is there until the process ends.
      if (store instanceof MemoryStore) for await (const { key } of store.list('')) await store.delete(key)
    },
  }
}

const directly: Open = async path => {
  const ns = await connect(path)
  return { ns, close: () => ns.close(), sql }
}

const overHttp: Open = async path => {
  const inner = await connect(path)
  const server = await serve(inner, { port: 0 })
  const ns = connectHttp(server.url)
  const close = async () => {
    await ns.close()
    await server.close()
    await inner.close()
  }
  return { ns, close, sql }
}

/** A worker cannot run TypeScript, so this is the adapter as it ships; `npm test` builds first. */
const inWorker: Open = async path => {
  const { connectWorker } = (await import(shipped('worker'))) as {
    connectWorker: (path: string, options?: ConnectWorkerOptions) => Promise<Namespace>
  }
  const ns = await connectWorker(path)
  const { sql } = (await import(shipped('index'))) as { sql: SqlTag }
  return { ns, close: () => ns.close(), sql }
}
