/** Opens a commit log in PostgreSQL. */
import type { Pool } from 'pg'
import type { ExternalLog } from '../../src/commit/external-log.js'
import { invalidInput, quote } from '../../src/errors.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { given, integer, options as shape, string } from '../../src/protocol/shape.js'
import { importClient, ofClient } from '../object-store/options.js'
import { Connections } from './connections.js'
import { optionsOfUrl, serverOf } from './log-url.js'
import { currentSchema, PostgresLog } from './postgres-log.js'

/** A pool of the package `pg`. */
export interface PostgresPool {
  connect(): Promise<unknown>
}

/** Options of `openPostgresLog`. */
export interface PostgresLogOptions {
  /**
   * Configuration of a pool of the package `pg` (its `PoolConfig`), for example `{ connectionString }`. Default: from the
   * environment (`PGHOST`, `PGUSER`, `PGPASSWORD`, ...), as for every program with this package.
   */
  readonly config?: object | undefined
  /** A pool of the package `pg`, instead of `config`. The log does not end it. */
  readonly pool?: PostgresPool | undefined
  /** The schema of the table. Default: the first schema of `search_path`. */
  readonly schema?: string | undefined
  /** The name of the table. It is created if it does not exist. Default `sheaf_log`. */
  readonly table?: string | undefined
  /** The name of the root in the table. Each root needs its own. Default `main`. */
  readonly root?: string | undefined
  /** Maximum time in milliseconds for a statement, and for getting a connection. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** Maximum number of repetitions of a statement that the server has certainly not executed, or that only reads. Default 5. */
  readonly retries?: number | undefined
  /** Signal that aborts `openPostgresLog`. Has no effect afterwards. */
  readonly signal?: AbortSignal | undefined
}

const postgresLogShape = shape<PostgresLogOptions>()({
  config: ofClient<object>(),
  pool: given<PostgresPool>('a pool of the package pg', isPool),
  schema: string('nonEmpty'),
  table: string('nonEmpty'),
  root: string('nonEmpty'),
  timeoutMs: integer(1, 2 ** 31 - 1),
  retries: integer(0, 100),
  signal: signalShape,
})

/** Maximum number of bytes of a name in PostgreSQL. */
const nameBytesMax = 63

/**
 * Open a commit log in PostgreSQL for the option `log` of `connect`. Instead of options, a URL may be passed: a connection
 * string, and the options `schema`, `table` and `root` as parameters. Creates the table if it does not exist. A log serves
 * one connection. `close` of the connection closes it.
 *
 * Throws `InvalidInput` for invalid options, and if the package `pg` is not installed. Throws `PermissionDenied` for wrong
 * credentials or missing rights. Throws `ServiceUnavailable` if the server cannot be reached, or is a standby.
 *
 * ```js
 * const log = await openPostgresLog('postgres://app@db.example/app?root=main')
 * const ns = await connect('s3://my-data/main', { log })
 * ```
 */
export async function openPostgresLog(
  options: PostgresLogOptions | string = {},
  ...more: readonly unknown[]
): Promise<ExternalLog> {
  refuseMore('openPostgresLog', 1, more)
  const {
    config,
    pool,
    schema,
    table = 'sheaf_log',
    root = 'main',
    timeoutMs = 30_000,
    retries = 5,
    signal,
  } = parse(
    postgresLogShape,
    typeof options === 'string' ? optionsOfUrl(options) : options,
    'openPostgresLog',
  )
  if (pool !== undefined && config !== undefined)
    throw invalidInput('openPostgresLog takes either pool or config, not both')
  checkName('schema', schema)
  checkName('table', table)
  if (root.includes('\0')) throw invalidInput(`root must not contain NUL, got ${quote(root)}`)
  const server = pool === undefined ? serverOf(config) : 'postgres://'
  const settings = { timeoutMs, retries, server }
  const connections =
    pool === undefined
      ? new Connections(await createPool(config, timeoutMs), true, settings)
      : new Connections(pool as Pool, false, settings)
  try {
    // The name of the server is known only with a connection.
    const current = await currentSchema(connections, signal)
    const named = schema ?? current
    if (named === null) {
      throw invalidInput(`${connections.name} has no schema for the table, because search_path is empty`, {
        hint: 'set the option schema',
      })
    }
    const log = new PostgresLog(connections, { schema: named, table, root })
    await log.createTable(signal)
    return log
  } catch (error) {
    await connections.close()
    throw error
  }
}

async function createPool(config: object | undefined, timeoutMs: number): Promise<Pool> {
  const module = await importClient('pg', '', () => import('pg'), 'sheaf/postgres')
  // Earlier versions of the package are a CommonJS module without named exports.
  const { Pool } = module.default
  return new Pool({
    application_name: 'sheaf',
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    ...config,
  })
}

function checkName(option: string, name: string | undefined): void {
  if (name === undefined || (Buffer.byteLength(name) <= nameBytesMax && !name.includes('\0'))) return
  throw invalidInput(
    `${option} must be a name of at most ${nameBytesMax} bytes without NUL, got ${quote(name)}`,
  )
}

function isPool(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && 'connect' in value && typeof value.connect === 'function'
  )
}
