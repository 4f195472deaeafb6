/**
 * Connects to a directory of LanceDB, or to one of its tables, for reading. The directory is local, or in object storage.
 * The catalog of the connection is in memory. It
 * has the tables, versions and tags of the directory, and follows them.
 */
import { resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tableNamed } from '../catalog/lookup.js'
import type { TableHead } from '../catalog/state.js'
import type { ConnectOptions } from '../client/connect-options.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { LanceTag } from '../lance/refs.js'
import { hasNumber } from '../manifest/runs.js'
import type { Clock } from '../primitives/clock.js'
import { inParallel } from '../primitives/in-parallel.js'
import type { HandlerOptions, Operations } from '../protocol/calls.js'
import type { OperationName } from '../protocol/operations.js'
import type { Engine } from '../root/engine.js'
import type { BlobStore } from '../storage/blob-store.js'
import { FileStore } from '../storage/file-store.js'
import { LanceStore } from './lance-store.js'
import { directoryTags } from './lance-tags.js'
import { current } from './lance-versions.js'
import { isInObjectStorage, openObjectStorage } from './object-storage.js'
import { deregisterTable, registerLanceTable } from './tables.js'
import { createTableTag, deleteTableTag, updateTableTag } from './tags.js'

/** The options that have no meaning for a directory of LanceDB. */
const refused = ['log', 'maintenance', 'functions', 'cacheDir', 'cacheDiskBytes'] as const
/** Further such options of local directories. */
const refusedLocally = ['store', 'storage'] as const

/** Open the store of a directory of LanceDB. Throws `InvalidInput` for options that have no meaning. */
export async function openLanceStore(
  path: string,
  options: ConnectOptions,
  clock: Clock,
): Promise<LanceStore> {
  const address = path.replace(/^lance\+/i, '')
  const isLocal = /^file:/i.test(address)
  for (const name of [...refused, ...(isLocal ? refusedLocally : [])]) {
    if (options[name] !== undefined)
      throw invalidInput(`the option ${name} has no effect on a directory of LanceDB (${quote(path)})`)
  }
  if (options.readOnly === false || options.create === true) {
    throw invalidInput(`a connection to a directory of LanceDB is read-only (${quote(path)})`, {
      hint: 'leave out the options readOnly and create; to write, copy the tables into a root of Sheaf',
    })
  }
  const [files, directory] = isLocal
    ? await openLocal(directoryOf(path), clock)
    : await openInBucket(path, address, options)
  const separator = isLocal ? sep : '/'
  const end = directory.lastIndexOf(separator) + 1
  for await (const { key } of files.list('_versions/', undefined, options.signal)) {
    if (!key.endsWith('.manifest')) continue
    return new LanceStore(files, directory.slice(0, end), directory.slice(end), clock)
  }
  return new LanceStore(files, directory, null, clock)
}

async function openLocal(directory: string, clock: Clock): Promise<readonly [BlobStore, path: string]> {
  const files = await FileStore.open(directory, { create: false, readOnly: true, clock }).catch(error => {
    if (error?.code !== ErrorCode.NamespaceNotFound) throw error
    // The hint of the store names an option that these connections refuse.
    throw new SheafError(ErrorCode.NamespaceNotFound, error.message, {
      hint: 'pass the directory that contains the folders <name>.lance',
    })
  })
  return [files, directory]
}

/** `address`: the path without its first scheme. */
async function openInBucket(
  path: string,
  address: string,
  { store, storage }: ConnectOptions,
): Promise<readonly [BlobStore, path: string]> {
  if (!isInObjectStorage(address)) {
    throw invalidInput(`${quote(path)} is not the address of a directory of LanceDB`, {
      hint: 'write lance+file:///data/lancedb, or lance+s3://bucket/prefix',
    })
  }
  if (store !== undefined && storage !== undefined)
    throw invalidInput('the option storage has no effect, because there is the option store')
  return [store ?? (await openObjectStorage(address, storage)), address.replace(/\/+$/, '')]
}

/** Return the path in the address of a directory. Throws `InvalidInput` if the address has none. */
function directoryOf(path: string): string {
  const [, address] = /^lance\+(file:\/\/\/.*)$/is.exec(path) ?? []
  try {
    if (address !== undefined) return resolve(fileURLToPath(address))
  } catch {
    // The address has characters that a path cannot have.
  }
  throw invalidInput(`${quote(path)} is not the address of a local directory`, {
    hint: 'write it with three slashes and an absolute path: lance+file:///data/lancedb',
  })
}

/** The operations before which the connection looks for new tables. */
const listing: ReadonlySet<OperationName> = new Set([
  'listTables',
  'listAllTables',
  'tableExists',
  'describeTable',
])
/** The operations before which the connection looks for new tags of a table. */
const tagging: ReadonlySet<OperationName> = new Set(['describeTable', 'listTableTags', 'getTableTagVersion'])

/** Maximum number of tables that are registered at the same time. */
const tablesAtOnce = 16

/** Keeps the catalog of a connection like its directory. */
export class LanceDirectory {
  readonly #engine: Engine
  readonly #store: LanceStore
  readonly #onWarning: (message: string, cause: unknown) => void
  readonly #warned = new Set<string>()
  #last: Promise<void> = Promise.resolve()

  constructor(engine: Engine, store: LanceStore, warn: (message: string, cause: unknown) => void) {
    this.#engine = engine
    this.#store = store
    this.#onWarning = warn
  }

  /** Return operations that look for new tables and tags before they need them. */
  following(operations: Operations): Operations {
    return new Proxy(operations, {
      get: (all, name: OperationName) => {
        const operation = all[name] as unknown as (...call: unknown[]) => Promise<unknown>
        const [tables, tags] = [listing.has(name), tagging.has(name)]
        if (!tables && !tags) return operation
        return async (request: { readonly id?: readonly string[] }, ...rest: unknown[]) => {
          const signal = (rest.at(-1) as HandlerOptions | undefined)?.signal
          await this.follow(tables, tags ? request.id : undefined, signal)
          const reply = await operation(request, ...rest)
          // Lance engines commit to the directory itself, and not to this catalog.
          return name === 'describeTable' ? { ...(reply as object), managed_versioning: false } : reply
        }
      },
    })
  }

  /** Look for new tables, if `tables`, and for new tags of the table `id`. One call runs at a time. */
  follow(tables: boolean, id: readonly string[] | undefined, signal?: AbortSignal): Promise<void> {
    const run = async () => {
      const head = id === undefined ? undefined : await this.#tableNamed(id, signal)
      await Promise.all([
        tables && this.#followTables(signal),
        head !== undefined && this.#followTags(head, signal),
      ])
    }
    const following = this.#last.then(run, run)
    this.#last = following.catch(() => {})
    return following
  }

  async #tableNamed(id: readonly string[], signal: AbortSignal | undefined): Promise<TableHead | undefined> {
    const state = await this.#engine.root.refresh(signal)
    return id.length === 1 ? tableNamed(state, id) : undefined
  }

  async #followTables(signal: AbortSignal | undefined): Promise<void> {
    const engine = this.#engine
    const folders = new Set(await this.#store.folders(signal))
    const known = new Set<string>()
    for (const [, { id, location }] of (await engine.root.refresh(signal)).tables) {
      if (folders.has(location)) known.add(location)
      else await deregisterTable(engine, { id: [...id] }, { signal })
    }
    const added = [...folders].filter(location => !known.has(location))
    await inParallel(added, tablesAtOnce, async location => {
      const id = [tableNameOf(location)]
      try {
        const [tags] = await Promise.all([
          this.#tagsOf(location, signal),
          registerLanceTable(engine, id, location, signal),
        ])
        const head = await this.#tableNamed(id, signal)
        if (head !== undefined) await this.#setTags(head, tags, signal)
      } catch (error) {
        signal?.throwIfAborted()
        this.#warn(`the table ${quote(location)} of LanceDB cannot be opened`, error)
      }
    })
  }

  #tagsOf(location: string, signal: AbortSignal | undefined) {
    const table = quote(tableNameOf(location))
    return directoryTags(this.#engine, location, signal, (tag, error) =>
      this.#warn(`tag ${quote(tag)} of table ${table} cannot be read`, error),
    )
  }

  async #followTags(head: TableHead, signal: AbortSignal | undefined): Promise<void> {
    const [tags, now] = await Promise.all([
      this.#tagsOf(head.location, signal),
      current(this.#engine, head, signal),
    ])
    await this.#setTags(now, tags, signal)
  }

  /** Give a table of the catalog the tags of the directory. */
  async #setTags(
    head: TableHead,
    found: ReadonlyMap<string, LanceTag>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const engine = this.#engine
    const { id } = head
    const tags = new Map<string, number>()
    for (const [tag, { version, branch }] of found) {
      if (branch === null && hasNumber(head.live, version)) tags.set(tag, version)
      else if (branch !== null)
        this.#warn(
          `tag ${quote(tag)} of table ${quote(id[0])} is left out`,
          new SheafError(
            ErrorCode.Unsupported,
            `its version is on the branch ${quote(branch)}, which Sheaf does not read: read it with LanceDB, or copy the branch into a table`,
          ),
        )
    }
    for (const [tag, version] of tags) {
      const before = head.tags.get(tag)
      if (before === version) continue
      const request = { id: [...id], tag, version }
      await (before === undefined ? createTableTag : updateTableTag)(engine, request, { signal })
    }
    for (const [tag] of head.tags)
      if (!tags.has(tag)) await deleteTableTag(engine, { id: [...id], tag }, { signal })
  }

  /** Report a problem, once. */
  #warn(message: string, cause: unknown): void {
    if (this.#warned.has(message)) return
    this.#warned.add(message)
    this.#onWarning(message, cause)
  }
}

function tableNameOf(location: string): string {
  return location.replace(/\.lance$/, '')
}
