/**
 * Measures how much memory a server needs for large request and reply bodies, and compares its speed with a plain
 * server of node:http.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Batch } from '../src/arrow/column.js'
import { concatChunks, encodeIpcStream } from '../src/arrow/encode-ipc.js'
import { encodeFlatbuffer, int8, int16, int64, int64s, table } from '../src/arrow/flatbuffer-write.js'
import { type FlatColumns, flattenColumn } from '../src/arrow/flatten.js'
import type { Schema } from '../src/arrow/types.js'
import { encodeLz4Frame } from '../test/support/arrow-lz4.js'
import { type Bench, type CaseResult, type Entry, hashOf, timesOf } from './harness.js'
import { MeasuredServer } from './measured-server.js'
import { makeBatches } from './wide-rows.js'

interface Parameters {
  /** Size of the rows in one request in bytes, in memory. */
  readonly bytes: number
  readonly dim: number
  /** Numbers of rows per batch. There is one case for each number. */
  readonly batchRows: readonly number[]
  readonly cacheBytes: number
  /** The kinds of uploads to measure. A table must be created before rows are inserted into it. */
  readonly uploads: readonly (keyof typeof uploadKinds)[]
}

/** By kind: table and operation, and whether the body is compressed. */
const uploadKinds = {
  create: ['plain/create', false],
  'create, LZ4': ['packed/create', true],
  insert: ['plain/insert', false],
  'insert, LZ4': ['packed/insert', true],
  overwrite: ['plain/insert?mode=overwrite', false],
} as const

export const bench: Bench<Parameters> = {
  name: 'http-stream',
  question: 'how much memory does a server need for large request and reply bodies?',
  small: { bytes: 4 << 20, dim: 16, batchRows: [2_000], cacheBytes: 1 << 20, uploads: ['create, LZ4'] },
  full: {
    bytes: 2 * 2 ** 30,
    dim: 512,
    batchRows: [2_000, 8_000, 30_000],
    cacheBytes: 64 << 20,
    uploads: ['create', 'create, LZ4', 'insert', 'insert, LZ4', 'overwrite'],
  },
  async run(parameters) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    try {
      const { bavail, bsize } = statfsSync(folder)
      if (bavail * bsize < 8 * parameters.bytes)
        throw new Error(`${folder} does not have enough free disk space`)
      const cases: CaseResult[] = []
      for (const batchRows of parameters.batchRows) {
        cases.push(await uploads(join(folder, `up-${batchRows}`), parameters, batchRows))
      }
      cases.push(await downloads(join(folder, 'down'), parameters))
      return cases
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Measure a request: its time, and the additional memory of the server. */
async function watched(
  server: MeasuredServer,
  name: string,
  bytes: number,
  batchBytes: number,
  work: () => Promise<unknown>,
): Promise<Entry> {
  await server.tell('forget')
  const { now } = await server.tell('tell')
  const started = performance.now()
  const answer = await work()
  const milliseconds = performance.now() - started
  const { peak, longestGapMs } = await server.tell('tell')
  return {
    name,
    milliseconds: timesOf(Float64Array.of(milliseconds)),
    gigabytesPerSecond: bytes / milliseconds / 1e6,
    relativeTime: 1,
    answer: hashOf(answer as number),
    figures: {
      megabytesMore: Math.round((peak - now) / 1e6),
      batchesMore: (peak - now) / batchBytes,
      longestGapMs,
    },
  }
}

/** Build a case in which times are relative to the first entry. */
function held(title: string, entries: readonly Entry[]): CaseResult {
  const first = entries[0]!.milliseconds.p50
  return {
    title,
    entries: entries.map(entry => ({ ...entry, relativeTime: entry.milliseconds.p50 / first })),
  }
}

// ---- uploads

async function uploads(folder: string, parameters: Parameters, batchRows: number): Promise<CaseResult> {
  const { schema, batch } = oneBatch(parameters.dim, batchRows)
  const plain = bodyOf(concatChunks(encodeIpcStream(schema, [batch])))
  const packed = { head: plain.head, batch: packedMessage(batch) }
  const batchBytes = plain.batch.length
  const times = Math.ceil(parameters.bytes / batchBytes)
  const bytes = times * batchBytes
  const bare = await MeasuredServer.start('bare', join(folder, 'bare'))
  const entries = [
    await watched(bare, 'node:http into a file', bytes, batchBytes, () => upload(bare, '/', plain, times)),
  ]
  await bare.close()
  for (const name of parameters.uploads) {
    const [path, isPacked] = uploadKinds[name]
    const server = await MeasuredServer.start('sheaf', join(folder, 'root'), parameters)
    const work = () => upload(server, `/v1/table/${path}`, isPacked ? packed : plain, times)
    entries.push(await watched(server, name, bytes, batchBytes, work))
    await server.close()
  }
  rmSync(folder, { recursive: true })
  return held(
    `${times} batches of ${(batchBytes / 1e6).toFixed(1)} MB sent, on disk when it answers`,
    entries,
  )
}

function oneBatch(dim: number, rows: number): { readonly schema: Schema; readonly batch: Batch } {
  const { schema, batches, pool } = makeBatches({ rows, dim, batchRows: rows })
  // Set half of each vector to 0, so that the data can be compressed.
  for (let i = 0; i < pool.length; i += dim) pool.fill(0, i, i + dim / 2)
  return { schema, batch: batches[0]! }
}

/** A stream of any length: its batch may be repeated. */
interface Body {
  readonly head: Uint8Array
  readonly batch: Uint8Array
}

const endBytes = 8

function bodyOf(stream: Uint8Array): Body {
  const headBytes = 8 + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true)
  return { head: stream.subarray(0, headBytes), batch: stream.subarray(headBytes, -endBytes) }
}

/** Encode a batch as LanceDB's clients do: each buffer is one LZ4 frame with its uncompressed length before it. */
function packedMessage({ length, columns }: Batch): Uint8Array {
  const flat: FlatColumns = { nodes: [], buffers: [] }
  for (const column of columns) flattenColumn(column, flat)
  const parts: Uint8Array[] = []
  const buffers: number[] = []
  let at = 0
  for (const plain of flat.buffers.map(concatChunks)) {
    const size = new Uint8Array(BigInt64Array.of(BigInt(plain.length)).buffer)
    const packed = plain.length === 0 ? plain : concatChunks([size, lz4Frame(plain)])
    const padding = new Uint8Array(-packed.length & 7)
    parts.push(packed, padding)
    buffers.push(at, packed.length)
    at += packed.length + padding.length
  }
  const codec = table([int8(0), int8(0)])
  const header = table([int64(length), int64s(flat.nodes, 2), int64s(buffers, 2), codec])
  const metadata = encodeFlatbuffer(table([int16(4), int8(3), header, int64(at)]))
  const gap = new Uint8Array(-metadata.length & 7)
  const prefix = new Uint8Array(Int32Array.of(-1, metadata.length + gap.length).buffer)
  return concatChunks([prefix, metadata, gap, ...parts])
}

/**
 * Bytes of input per LZ4 block. A block may have at most 64 KiB, and data that cannot be compressed becomes slightly
 * longer.
 */
const blockBytes = 60 * 1024
const frameHeadBytes = 7
const frameEndBytes = 4

/** Encode bytes as one LZ4 frame, which is assembled from the blocks of several frames without checksums. */
function lz4Frame(plain: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = []
  for (let at = 0; at < plain.length || at === 0; at += blockBytes) {
    const frame = encodeLz4Frame(plain.subarray(at, at + blockBytes), { independent: true })
    if (at === 0) parts.push(frame.subarray(0, frameHeadBytes))
    parts.push(frame.subarray(frameHeadBytes, -frameEndBytes))
  }
  return concatChunks([...parts, new Uint8Array(frameEndBytes)])
}

async function upload(server: MeasuredServer, path: string, body: Body, times: number): Promise<unknown> {
  const request = httpRequest(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.apache.arrow.stream' },
  })
  const answered = once(request, 'response')
  // Stop sending when the connection closes, because a server that has found an error reads no more.
  const closed = once(request, 'close')
  await send(request, body.head, closed)
  for (let i = 0; i < times; i++) await send(request, body.batch, closed)
  request.end(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0))
  const [response]: IncomingMessage[] = await answered
  const text = Buffer.concat(await response!.toArray()).toString()
  if (response!.statusCode! >= 300) throw new Error(text)
  return times
}

async function send(request: ClientRequest, bytes: Uint8Array, closed: Promise<unknown>): Promise<void> {
  for (let at = 0; at < bytes.length; at += 256 * 1024) {
    if (!request.write(bytes.subarray(at, at + 256 * 1024)))
      await Promise.race([once(request, 'drain'), closed])
  }
}

// ---- downloads

async function downloads(folder: string, { bytes, dim, cacheBytes }: Parameters): Promise<CaseResult> {
  const { schema, batch } = oneBatch(dim, 2_000)
  const body = bodyOf(concatChunks(encodeIpcStream(schema, [batch])))
  const times = Math.ceil(bytes / body.batch.length)
  const all = times * body.batch.length
  const entries: Entry[] = []
  for (const kind of ['bare', 'sheaf'] as const) {
    const server = await MeasuredServer.start(kind, join(folder, kind), { cacheBytes })
    await upload(server, '/v1/table/t/create', body, times)
    const scans = [
      ['as a file', 'application/vnd.apache.arrow.file'],
      ['as a stream', 'application/vnd.apache.arrow.stream'],
    ] as const
    for (const [form, accept] of kind === 'bare' ? ([['', '*/*']] as const) : scans) {
      const name = kind === 'bare' ? 'node:http from a file' : `all rows, ${form}`
      // Read once before the measurement as a warm-up.
      await download(server, accept, 2_000)
      const scan = () => download(server, accept, times * 2_000)
      entries.push(await watched(server, name, all, body.batch.length, scan))
    }
    await server.close()
  }
  return held(`${(all / 1e6).toFixed(0)} MB of rows read`, entries)
}

/** Read all rows, and drop the bytes. Returns their number. */
async function download(server: MeasuredServer, accept: string, rows: number): Promise<unknown> {
  const path = '/v1/table/t/query'
  const isBare = accept === '*/*'
  const request = httpRequest(server.url + path, {
    method: isBare ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', accept },
  })
  const answered = once(request, 'response')
  request.end(isBare ? undefined : JSON.stringify({ k: rows, vector: [] }))
  const [response]: IncomingMessage[] = await answered
  let length = 0
  for await (const chunk of response!) length += chunk.length
  if (response!.statusCode! >= 300) throw new Error(`status ${response!.statusCode}`)
  return length
}
