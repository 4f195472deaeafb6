/** Opens a root: store, log, state, and the operations on them. */
import { resolve } from 'node:path'
import { catalogMachine } from '../catalog/apply.js'
import { BlobLog } from '../commit/blob-log.js'
import { Committer } from '../commit/committer.js'
import { invalidInput, quote } from '../errors.js'
import { LayoutStore } from '../manifest/layout-store.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import { KeyedMutex } from '../primitives/keyed-mutex.js'
import { bindHandlers } from '../protocol/calls.js'
import type { BlobStore } from '../storage/blob-store.js'
import { FileStore } from '../storage/file-store.js'
import { MemoryStore } from '../storage/memory-store.js'
import { selfTest } from '../storage/self-test.js'
import { createTableSource } from '../table/table-source.js'
import type { Engine } from './engine.js'
import { handlers } from './handlers.js'
import { Namespace } from './namespace.js'

export interface ConnectOptions {
  /** Whether to make the root when it is not there. Default true. */
  readonly create?: boolean
  /** Whether to refuse every write; the root may then lie on read-only media. Default false. */
  readonly readOnly?: boolean
  /** Where the bytes lie, instead of at `path`, which is then only a name for messages. */
  readonly store?: BlobStore
  /** Bytes of columns that may stay in memory. Default 1 GiB. */
  readonly cacheBytes?: number
  /** Source of time and randomness, for tests that replay. */
  readonly clock?: Clock
  readonly signal?: AbortSignal
}

/**
 * Opens the namespace at `path`: a local directory, `memory://` for one that lives as long as the connection, or
 * `memory://name` for one that all who open that name share until the process ends.
 * Several processes may open one directory. Throws code 1 for a directory that is missing and not to be created,
 * 13 for a path that is none, 15 or 17 for one that cannot be used, 18 for a damaged log.
 */
export async function connect(path: string, options: ConnectOptions = {}): Promise<Namespace> {
  const { create = true, readOnly = false, cacheBytes = 1024 ** 3, clock = systemClock, signal } = options
  if (!(cacheBytes >= 0)) throw invalidInput(`cacheBytes must be a number >= 0, got ${quote(cacheBytes)}`)
  const store = options.store ?? (await openStore(path, { create, readOnly, clock }))
  // Our own stores prove themselves when they are opened, or need no proof.
  if (options.store !== undefined && !readOnly) await selfTest(store, clock, signal)
  const committer = await Committer.open(
    new BlobLog(store),
    catalogMachine,
    { clock, create, readOnly },
    signal,
  )
  const engine: Engine = {
    location: store instanceof FileStore ? resolve(path) : path,
    store,
    committer,
    layouts: new LayoutStore(committer.slots),
    source: createTableSource(store, committer.slots, cacheBytes),
    clock,
    turns: new KeyedMutex(),
    creations: new KeyedMutex(),
  }
  return new Namespace(bindHandlers(handlers, engine), () => committer.close())
}

async function openStore(
  path: string,
  options: { readonly create: boolean; readonly readOnly: boolean; readonly clock: Clock },
): Promise<BlobStore> {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw invalidInput(`path must be a directory or memory://, got ${quote(path)}`)
  }
  if (path.startsWith('memory://')) return MemoryStore.open(path)
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path)) {
    throw invalidInput(`no store knows ${quote(path)}`, { hint: 'use a local directory or memory://' })
  }
  return FileStore.open(path, options)
}
