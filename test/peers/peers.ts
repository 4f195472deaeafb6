/** Real clients, and a server of ours for them to talk to. */
import * as newer from '@lancedb/lancedb'
import * as older from 'lancedb-0.37'
import { afterEach } from 'vitest'
import type { RequestRecord } from '../../adapters/http/options.js'
import { serve } from '../../adapters/http/server.js'
import type { Batch } from '../../src/arrow/column.js'
import { concatBatches } from '../../src/arrow/concat.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks, encodeIpcFile } from '../../src/arrow/encode-ipc.js'
import { connect, type Namespace } from '../../src/index.js'
import type { OperationName } from '../../src/protocol/operations.js'
import { temporaryRoots } from '../support/roots.js'

export type Lancedb = typeof newer

/** The tests use what both releases have, and take its types from the newer one. */
export const releases: readonly { readonly release: string; readonly lancedb: Lancedb }[] = [
  { release: '0.39', lancedb: newer },
  { release: '0.37', lancedb: older as unknown as Lancedb },
]

/** A release that writes tables of Lance. */
export interface FileRelease {
  readonly release: string
  readonly lancedb: Lancedb
  /** The versions of the file format that the release writes in full, the default first. */
  readonly fileVersions: readonly string[]
  /** The release that reads the tables, for comparison: the newest for older releases, which fail to read some of their tables. */
  readonly reader: Lancedb
}

/**
 * Releases whose tables Sheaf reads. The older releases have no build for some platforms, where their tests are skipped.
 * 0.10 writes version 0.1 unless told otherwise, and 0.10 and 0.19 write an unfinished version 2.1.
 */
export const fileReleases: readonly FileRelease[] = [
  { ...releases[0]!, reader: newer, fileVersions: ['2.2', '2.1', '2.0'] },
  { ...releases[1]!, reader: releases[1]!.lancedb, fileVersions: ['2.1', '2.0', '2.2'] },
  ...(await olderRelease('0.27', ['2.0', '2.1', '2.2'], () => import('lancedb-0.27'))),
  ...(await olderRelease('0.19', ['2.0'], () => import('lancedb-0.19'))),
  ...(await olderRelease('0.10', ['2.0'], () => import('lancedb-0.10'))),
]

async function olderRelease(
  release: string,
  fileVersions: readonly string[],
  load: () => Promise<unknown>,
): Promise<FileRelease[]> {
  try {
    return [{ release, lancedb: (await load()) as Lancedb, reader: newer, fileVersions }]
  } catch {
    console.log(`peers: LanceDB ${release} skipped, because it cannot be loaded on this machine`)
    return []
  }
}

/** The parts of the clients below their classes of apache-arrow, which do not have all types. */
export interface InnerTable {
  add(ipc: Buffer, mode: 'append'): Promise<unknown>
  query(): { execute(): Promise<{ next(): Promise<Buffer | null> }> }
}

/** Create the table `t` from an Arrow IPC file. */
export async function createFromIpc(
  { release, lancedb }: Pick<FileRelease, 'release' | 'lancedb'>,
  folder: string,
  ipc: Buffer,
  fileVersion: string,
): Promise<InnerTable> {
  const { inner } = (await lancedb.connect(folder)) as unknown as {
    readonly inner: { createTable(...args: unknown[]): Promise<InnerTable> }
  }
  const options = { new_table_data_storage_version: fileVersion }
  if (release === '0.10') return inner.createTable('t', ipc, 'create', {}, fileVersion)
  if (release === '0.19') return inner.createTable('t', ipc, 'create', options)
  return inner.createTable('t', ipc, 'create', [], options)
}

/** Encode a batch as an Arrow IPC file. */
export function toIpc(batch: Batch): Buffer {
  return Buffer.from(concatChunks(encodeIpcFile(batch.schema, [batch])))
}

/** Return all rows of the table `t`, as LanceDB reads them. */
export async function allRows(reader: Lancedb, folder: string): Promise<Batch> {
  const table = await (await reader.connect(folder)).openTable('t')
  const results = await (table as unknown as { inner: InnerTable }).inner.query().execute()
  const batches: Batch[] = []
  for (let bytes = await results.next(); bytes !== null; bytes = await results.next()) {
    batches.push(...decodeIpc(new Uint8Array(bytes)).batches)
  }
  return concatBatches(batches)
}

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
