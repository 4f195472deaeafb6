/** Real clients, and a server of ours for them to talk to. */
import * as newer from '@lancedb/lancedb'
import * as older from 'lancedb-0.37'
import { afterEach } from 'vitest'
import type { RequestRecord } from '../../adapters/http/options.js'
import { serve } from '../../adapters/http/server.js'
import { connect, type Namespace } from '../../src/index.js'
import type { OperationName } from '../../src/protocol/operations.js'
import { temporaryRoots } from '../support/roots.js'

export type Lancedb = typeof newer

/** The tests use what both releases have, and take its types from the newer one. */
export const releases: readonly { readonly release: string; readonly lancedb: Lancedb }[] = [
  { release: '0.39', lancedb: newer },
  { release: '0.37', lancedb: older as unknown as Lancedb },
]

export interface Served {
  /** Directory of the root. */
  readonly folder: string
  readonly url: string
  /** The namespace that is served. */
  readonly ns: Namespace
  /** What was asked since the last call of this: `operation`, or `operation status` where it was refused. */
  asked(): string[]
  /** The requests of an operation there ever were. */
  calls(operation: OperationName): unknown[]
  close(): Promise<void>
}

/** Call at the top of a test file: what it gives serves a root, a fresh one unless told, until the test ends. */
export function servers(): (folder?: string, around?: Around) => Promise<Served> {
  const freshFolder = temporaryRoots()
  const running: Served[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map(served => served.close()))
  })
  return async (folder = freshFolder(), around = (_operation, call) => call()) => {
    const ns = await connect(folder)
    const calls: { readonly operation: string; readonly request: unknown }[] = []
    const recorded = new Proxy(ns.operations, {
      get: (operations, operation: OperationName | symbol) => {
        if (typeof operation === 'symbol') return undefined
        return (...args: [never, never, never]) => {
          calls.push({ operation, request: args[0] })
          return around(operation, () => operations[operation](...args))
        }
      },
    })
    let log: string[] = []
    const logger = ({ operation, method, path, status }: RequestRecord) => {
      const name = operation ?? `${method} ${path}`
      log.push(status < 400 ? name : `${name} ${status}`)
    }
    const server = await serve({ operations: recorded }, { port: 0, logger })
    let closed: Promise<void> | undefined
    const served: Served = {
      folder,
      url: server.url,
      ns,
      asked() {
        const taken = log
        log = []
        return taken
      },
      calls: name => calls.filter(({ operation }) => operation === name).map(({ request }) => request),
      close() {
        closed ??= server.close().then(() => ns.close())
        return closed
      },
    }
    running.push(served)
    return served
  }
}

/** What happens to a call on its way to the namespace. */
export type Around = (operation: OperationName, call: () => Promise<unknown>) => Promise<unknown>

/** The client for LanceDB's own service: the server holds the rows and runs the queries. */
export function connectRemote(lancedb: Lancedb, url: string): Promise<newer.Connection> {
  return lancedb.connect('db://sheaf', { apiKey: 'key', region: 'us-east-1', hostOverride: url })
}

/** The embedded engine with the server as its catalog: the engine writes and reads the files. */
export function connectEngine(
  lancedb: Lancedb,
  url: string,
  options: Partial<newer.ConnectNamespaceOptions> = {},
): Promise<newer.Connection> {
  return lancedb.connectNamespace('rest', { uri: url, headers: { 'x-api-key': 'key' } }, options)
}

/** Values of one column of an answer, in order. */
export async function column(query: { toArray(): Promise<Row[]> }, name: string): Promise<unknown[]> {
  return (await query.toArray()).map(row => row[name])
}

/** Numbers in ascending order, anything else as text is. */
export function sorted<T>(values: readonly T[]): T[] {
  return [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

type Row = Record<string, unknown>
