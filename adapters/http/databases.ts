/** Serves the directories below one root directory as databases of one server. */

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { connectFields } from '../../src/client/connect-options.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { type ConnectOptions, connect, type Namespace } from '../../src/index.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import type { Operations } from '../../src/protocol/calls.js'
import { checkName } from '../../src/protocol/identifiers.js'
import { parse } from '../../src/protocol/parse.js'
import { boolean, options as declare, integer, string } from '../../src/protocol/shape.js'
import { hasExactPath } from '../../src/storage/exact-path.js'
import { portabilityProblem } from '../../src/storage/portable-name.js'

export interface DatabasesOptions {
  /** Whether to create a missing database when a request names it. Default false. */
  readonly create?: boolean
  /** The database for requests without a database name. Default: such requests are refused. */
  readonly default?: string
  /**
   * Maximum number of databases that stay open while no call uses them. Default 8. Above this number, the least
   * recently used database is closed. Background tasks of a database stop when it is closed, and continue when it is
   * opened again.
   */
  readonly keepOpen?: number
  /** Options for opening each database. `cacheBytes` limits each open database, not their sum. */
  readonly connect?: Omit<ConnectOptions, 'create' | 'store' | 'log' | 'signal'>
}

const { create: _, store: __, log: ___, signal: ____, ...connectOthers } = connectFields

export const databasesShape = declare<DatabasesOptions>()({
  create: boolean,
  default: string('nonEmpty'),
  keepOpen: integer(0),
  connect: declare<NonNullable<DatabasesOptions['connect']>>()(connectOthers),
})

export interface Databases {
  /** The database for requests without a database name. */
  readonly default?: string | undefined
  /**
   * Open a database if it is not open, and keep it open until `work` is done. `name`: one name, or a path of names
   * joined by slashes. Rejects with:
   *
   * - InvalidInput for an invalid name, for a name that differs from the name of its directory, and for `undefined` if there is no default.
   * - ServiceUnavailable after `close`.
   * - The errors of `connect` and `work`.
   */
  use<T>(
    name: string | undefined,
    work: (operations: Operations, namespace: Pick<Namespace, 'tableAt' | 'watch'>) => Promise<T>,
  ): Promise<T>
  /** Accept no more work. Resolves when all work is done and all databases are closed. */
  close(): Promise<void>
}

/**
 * Serve every directory below `root` as a database. The name of a database is the path of its directory from `root`.
 * The first request for a database opens it. Throws InvalidInput for invalid options.
 *
 * ```js
 * const server = await serve(databases('./data', { create: true, default: 'main' }))
 * ```
 */
export function databases(root: string, options?: DatabasesOptions): Databases
export function databases(
  root: string,
  options: DatabasesOptions = {},
  ...more: readonly unknown[]
): Databases {
  refuseMore('databases', 2, more)
  return new Folder(root, parse(databasesShape, options, 'databases'))
}

interface Opened {
  readonly namespace: Promise<Namespace>
  /** Number of calls that use the database. */
  uses: number
}

/** Maximum names in a path. The limit bounds the cost of very long paths. */
const depthMax = 16

class Folder implements Databases {
  readonly #root: string
  readonly #options: DatabasesOptions
  readonly #keepOpen: number
  /** Open databases by their path from the root, in order of use. The last entry is the most recently used. */
  readonly #opened = new Map<string, Opened>()
  /** Databases that are being closed. A call that opens one of them waits until it is closed. */
  readonly #closing = new Map<string, Promise<void>>()
  readonly #work = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined
  #failure: unknown

  get default(): string | undefined {
    return this.#options.default
  }

  constructor(root: string, options: DatabasesOptions) {
    if (typeof root !== 'string' || root === '' || /^[a-z][a-z0-9+.-]+:\/\//i.test(root)) {
      throw invalidInput(`the root of databases must be a directory, got ${quote(root)}`)
    }
    const { keepOpen = 8 } = options
    if (options.default !== undefined) checkDatabase(options.default)
    this.#root = resolve(root)
    this.#options = options
    this.#keepOpen = keepOpen
  }

  async use<T>(
    name: string | undefined = this.#options.default,
    work: (operations: Operations, namespace: Namespace) => Promise<T>,
  ): Promise<T> {
    if (this.#closed !== undefined) {
      throw new SheafError(ErrorCode.ServiceUnavailable, 'the databases are closed')
    }
    if (name === undefined) {
      throw invalidInput('the request has no database', {
        hint: 'send the header field x-lancedb-database, or set a default database on the server',
      })
    }
    checkDatabase(name)
    const used = this.#use(name, work)
    const settled = used.then(ignore, ignore)
    this.#work.add(settled)
    settled.then(() => this.#work.delete(settled))
    return used
  }

  async #use<T>(
    name: string,
    work: (operations: Operations, namespace: Namespace) => Promise<T>,
  ): Promise<T> {
    const opened = this.#opened.get(name) ?? { namespace: this.#open(name), uses: 0 }
    this.#opened.delete(name)
    this.#opened.set(name, opened)
    opened.uses++
    try {
      const namespace = await opened.namespace.catch(cause => {
        if (this.#opened.get(name) === opened) this.#opened.delete(name)
        throw cause
      })
      return await work(namespace.operations, namespace)
    } finally {
      opened.uses--
      this.#closeIdle()
    }
  }

  /**
   * Open a database. Calls that come meanwhile wait for the same promise. On a disk that ignores case, `Acme` would open
   * the directory `acme`, which the caller may not be allowed to use.
   */
  async #open(name: string): Promise<Namespace> {
    await this.#closing.get(name)
    const { create = false, connect: options } = this.#options
    const path = join(this.#root, ...name.split('/'))
    // A directory without a log is not a root. Opening it would write files there.
    const exists = existsSync(join(path, '_log'))
    const isExact = await hasExactPath(this.#root, name)
    if (!create && !(exists && isExact)) {
      throw invalidInput(`there is no database ${quote(name)}`, {
        hint: 'create it on the server, or let the server create missing databases: databases(root, { create: true })',
      })
    }
    if (!isExact) throw differentName(name)
    const namespace = await connect(path, { ...options, create })
    // Another call may have created the directory under another name meanwhile.
    if (exists || (await hasExactPath(this.#root, name))) return namespace
    await namespace.close()
    throw differentName(name)
  }

  #closeIdle(): void {
    const idle = [...this.#opened].filter(([, { uses }]) => uses === 0)
    for (const [name, opened] of idle.slice(0, Math.max(0, idle.length - this.#keepOpen))) {
      void this.#shut(name, opened)
    }
  }

  #shut(name: string, { namespace }: Opened): Promise<void> {
    this.#opened.delete(name)
    const closing = namespace
      .then(opened => opened.close())
      .catch(cause => {
        this.#failure ??= cause
      })
      .then(() => {
        this.#closing.delete(name)
      })
    this.#closing.set(name, closing)
    return closing
  }

  close(): Promise<void> {
    this.#closed ??= this.#closeAll()
    return this.#closed
  }

  async #closeAll(): Promise<void> {
    await Promise.all(this.#work)
    await Promise.all([...this.#opened].map(([name, opened]) => this.#shut(name, opened)))
    await Promise.all(this.#closing.values())
    if (this.#failure !== undefined) throw this.#failure
  }
}

function ignore(): void {}

function differentName(name: string): SheafError {
  return invalidInput(
    `the database ${quote(name)} cannot be created: the disk does not distinguish its name from the name of an existing directory`,
    { hint: 'choose a name that differs in more than upper and lower case or Unicode form' },
  )
}

/**
 * Throw InvalidInput for a name that is not a path below the root. A database may be in the directory of another
 * database, so names of Sheaf's own files are refused: `tables`, and names that begin with `_`.
 */
export function checkDatabase(name: string): void {
  if (typeof name !== 'string') throw invalidInput(`the database must be a string, got ${quote(name)}`)
  // Node joins repeated header fields with a comma. A proxy may check only one of
  // these fields, so the server refuses several: it could use another database than the proxy checked.
  if (name.includes(',')) {
    throw invalidInput(`the database is not one name: ${quote(name)}`, {
      hint: 'send x-lancedb-database once, without a comma',
    })
  }
  const names = name.split('/')
  if (names.length > depthMax) {
    throw invalidInput(`the database path has ${names.length} names, more than the limit of ${depthMax}`)
  }
  for (const each of names) {
    checkName(each, 'the database')
    const problem = portabilityProblem(each)
    if (problem !== undefined) {
      throw invalidInput(`the database cannot be called ${quote(each)}, which ${problem}`, {
        hint: 'choose a name that every platform accepts',
      })
    }
    if (each.startsWith('_') || each.toLowerCase() === 'tables') {
      throw invalidInput(
        `a database cannot be called ${quote(each)}: databases keep their files under this name`,
      )
    }
  }
}
