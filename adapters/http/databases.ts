/** Many databases behind one server: the directories below one. */

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

export interface DatabasesOptions {
  /** Whether a database that is not there is made when somebody names it. Default false. */
  readonly create?: boolean
  /** The database of requests that name none. Default: they are refused. */
  readonly default?: string
  /**
   * Databases that stay open while nobody calls them; of more, the one that was not called for the longest time is closed. Default 8. What works in the background of
   * a database ends when it is closed, and goes on when it is opened again.
   */
  readonly keepOpen?: number
  /** How each is opened. `cacheBytes` is for one database, so that all that are open may take as many times that. */
  readonly connect?: Omit<ConnectOptions, 'create' | 'store' | 'signal'>
}

const { create: _, store: __, signal: ___, ...connectOthers } = connectFields

export const databasesShape = declare<DatabasesOptions>()({
  create: boolean,
  default: string('nonEmpty'),
  keepOpen: integer(0),
  connect: declare<NonNullable<DatabasesOptions['connect']>>()(connectOthers),
})

export interface Databases {
  /** The database of requests that name none. */
  readonly default?: string | undefined
  /**
   * Opens a database if it is not open, and keeps it open for as long as `work` takes. `name`: one name, or several joined by slashes.
   * Rejects with code 13 for a name that is none, or of none, 17 when all are closed, and with what `connect` and `work` throw.
   */
  use<T>(
    name: string | undefined,
    work: (operations: Operations, namespace: Pick<Namespace, 'tableAt'>) => Promise<T>,
  ): Promise<T>
  /** Takes on no more work, and resolves when what has begun is done and all databases are closed. */
  close(): Promise<void>
}

/**
 * Every directory below `root` as a database, by its path from there: opened when it is first called. Throws code 13 for options
 * that make no sense.
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
  /** Calls under way. */
  uses: number
}

/** Longest path of names; makes no difference but to who sends very long ones. */
const depthMax = 16

class Folder implements Databases {
  readonly #root: string
  readonly #options: DatabasesOptions
  readonly #keepOpen: number
  /** By path from the root; the one called last comes last. */
  readonly #opened = new Map<string, Opened>()
  /** Those on their way out: to be opened again only when they are closed. */
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
      throw invalidInput('the request names no database', {
        hint: 'send its name as the header field x-lancedb-database, or give the server a default',
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

  /** Those who come meanwhile wait for the same opening. */
  async #open(name: string): Promise<Namespace> {
    await this.#closing.get(name)
    const { create = false, connect: options } = this.#options
    const path = join(this.#root, ...name.split('/'))
    // Every root has a log. To open what is none would leave traces there.
    if (!create && !existsSync(join(path, '_log'))) {
      throw invalidInput(`there is no database ${quote(name)}`, {
        hint: 'create it on the server, or let the server create what is named: databases(root, { create: true })',
      })
    }
    return connect(path, { ...options, create })
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

/**
 * Names a path below the root, and none elsewhere. The files of a database begin with `_` or lie in `tables`, so databases may lie below
 * one another.
 */
export function checkDatabase(name: string): void {
  if (typeof name !== 'string') throw invalidInput(`the database must be a string, got ${quote(name)}`)
  // Header fields of one name come as one. Who looks at one of them before the server does must mean the same database.
  if (name.includes(',')) {
    throw invalidInput(`the database is not one name: ${quote(name)}`, {
      hint: 'send x-lancedb-database once, without a comma',
    })
  }
  const names = name.split('/')
  if (names.length > depthMax) {
    throw invalidInput(`the database has ${names.length} names, more than ${depthMax}`)
  }
  for (const each of names) {
    checkName(each, 'the database')
    if (each.startsWith('_') || each.toLowerCase() === 'tables') {
      throw invalidInput(
        `the database cannot be called ${quote(each)}: that is where databases keep their files`,
      )
    }
  }
}
