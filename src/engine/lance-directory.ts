/**
 * Connects to a directory of LanceDB, or to one of its tables, for reading. The catalog of the connection is in memory. It
 * has the tables, versions and tags of the directory, and follows them.
 */
import { basename, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ConnectOptions } from '../client/connect-options.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { readLanceTag, refName } from '../lance/refs.js'
import { hasNumber } from '../manifest/runs.js'
import type { Clock } from '../primitives/clock.js'
import type { HandlerOptions, Operations } from '../protocol/calls.js'
import type { OperationName } from '../protocol/operations.js'
import type { Engine } from '../root/engine.js'
import { FileStore } from '../storage/file-store.js'
import { LanceStore } from './lance-store.js'
import { current } from './lance-versions.js'
import { deregisterTable, registerTable } from './tables.js'
import { createTableTag, deleteTableTag, updateTableTag } from './tags.js'

/** The options that have no meaning for a directory of LanceDB. */
const refused = ['store', 'storage', 'log', 'maintenance', 'functions'] as const

/** Open the store of a directory of LanceDB. Throws `InvalidInput` for options that have no meaning. */
export async function openLanceStore(
  path: string,
  options: ConnectOptions,
  clock: Clock,
): Promise<LanceStore> {
  for (const name of refused) {
    if (options[name] !== undefined)
      throw invalidInput(`the option ${name} has no effect on a directory of LanceDB (${quote(path)})`)
  }
  if (options.readOnly === false || options.create === true) {
    throw invalidInput(`a connection to a directory of LanceDB is read-only (${quote(path)})`, {
      hint: 'leave out the options readOnly and create; to write, copy the tables into a root of Sheaf',
    })
  }
  const directory = directoryOf(path)
  const one = basename(directory)
  const reading = { create: false, readOnly: true, clock }
  const own = await FileStore.open(directory, reading).catch(error => {
    if (error?.code !== ErrorCode.NamespaceNotFound) throw error
    // The hint of the store names an option that these connections refuse.
    throw new SheafError(ErrorCode.NamespaceNotFound, error.message, {
      hint: 'pass the directory that contains the folders <name>.lance',
    })
  })
  for await (const { key } of own.list('_versions/', undefined, options.signal)) {
    if (!key.endsWith('.manifest')) continue
    const parent = dirname(directory)
    return new LanceStore(await FileStore.open(parent, reading), parent, one, clock)
  }
  return new LanceStore(own, directory, null, clock)
}

/** Return the path in the address of a directory. Throws `InvalidInput` if the address has none. */
function directoryOf(path: string): string {
  try {
    return resolve(fileURLToPath(path.replace(/^lance\+/i, '')))
  } catch (cause) {
    throw invalidInput(`${quote(path)} is not the address of a local directory`, {
      hint: 'write it with three slashes and an absolute path: lance+file:///data/lancedb',
      cause,
    })
  }
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

/** Keeps the catalog of a connection like its directory. */
export class LanceDirectory {
  readonly #engine: Engine
  readonly #store: LanceStore
  readonly #warn: (message: string, cause: unknown) => void
  #last: Promise<void> = Promise.resolve()

  constructor(engine: Engine, store: LanceStore, warn: (message: string, cause: unknown) => void) {
    this.#engine = engine
    this.#store = store
    this.#warn = warn
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
      if (tables) await this.#followTables(signal)
      const head = (await this.#engine.root.refresh(signal)).tables
      for (const [, table] of head)
        if (id !== undefined && table.id.length === 1 && table.id[0] === id[0])
          await this.#followTags(table.id, signal)
    }
    const following = this.#last.then(run, run)
    this.#last = following.catch(() => {})
    return following
  }

  async #followTables(signal: AbortSignal | undefined): Promise<void> {
    const engine = this.#engine
    const folders = new Set(await this.#store.folders(signal))
    const known = new Set<string>()
    for (const [, { id, location }] of (await engine.root.refresh(signal)).tables) {
      if (folders.has(location)) known.add(location)
      else await deregisterTable(engine, { id: [...id] }, { signal })
    }
    for (const location of folders) {
      if (known.has(location)) continue
      const id = [location.replace(/\.lance$/, '')]
      try {
        await registerTable(engine, { id, location }, { signal })
        await this.#followTags(id, signal)
      } catch (error) {
        signal?.throwIfAborted()
        this.#warn(`the table ${quote(location)} of LanceDB cannot be opened`, error)
      }
    }
  }

  async #followTags(id: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    const engine = this.#engine
    const found = [...(await engine.root.refresh(signal)).tables].find(
      ([, head]) => head.id[0] === id[0],
    )?.[1]
    if (found === undefined) return
    const head = await current(engine, found, signal)
    const tags = new Map<string, number>()
    for await (const [key, bytes] of this.#store.tags(head.location, signal)) {
      const tag = refName(key)
      if (tag === null) continue
      const { version, branch } = readLanceTag(bytes, key)
      if (branch === null && hasNumber(head.live, version)) tags.set(tag, version)
      else if (branch !== null)
        this.#warn(
          `tag ${quote(tag)} of table ${quote(id[0])} is left out`,
          new SheafError(
            ErrorCode.Unsupported,
            `its version is on the branch ${quote(branch)}, which Sheaf does not read`,
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
}
