/**
 * Measures whole tables over HTTP: reads by one reader, by several readers with a slice each, with a filter and with
 * compression, and writes by several processes.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type BulkFiles, categories, writeBulk } from './bulk-data.js'
import { type Bench, type CaseResult, type Entry, hashOf, timesOf } from './harness.js'
import { MeasuredServer } from './measured-server.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly batchRows: number
  readonly cacheBytes: number
  readonly readers: number
  /** The number of worker threads of the server with several threads. */
  readonly workers: number
  readonly rounds: number
  /** Whether to measure ZSTD compression. It needs the newer Node in `bench/newer-node`. */
  readonly zstd: boolean
}

export const bench: Bench<Parameters> = {
  name: 'bulk',
  question: 'how fast can one process, and several processes, read and write whole tables over HTTP?',
  small: {
    rows: 4_000,
    dim: 16,
    batchRows: 500,
    cacheBytes: 4 << 20,
    readers: 2,
    workers: 2,
    rounds: 1,
    zstd: false,
  },
  full: {
    rows: 1_000_000,
    dim: 128,
    batchRows: 20_000,
    cacheBytes: 1 << 30,
    readers: 4,
    workers: 2,
    rounds: 3,
    zstd: true,
  },
  async run(parameters) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const clients = new Clients(parameters.readers)
    try {
      const { bavail, bsize } = statfsSync(folder)
      const rowBytes = 140 + 4 * parameters.dim
      // Appended rows are not deleted, so they need disk space until the end.
      const copies = 3 + 2 * (parameters.rounds + 1)
      if (bavail * bsize < copies * parameters.rows * rowBytes)
        throw new Error(`${folder} does not have enough free disk space`)
      return await casesOf({ ...parameters, folder, clients })
    } finally {
      clients.end()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface Setting extends Parameters {
  readonly folder: string
  readonly clients: Clients
}

async function casesOf(setting: Setting): Promise<CaseResult[]> {
  const { folder, clients, readers, workers, cacheBytes, rows } = setting
  const source = join(folder, 'source')
  mkdirSync(source)
  const files = writeBulk(source, setting, readers)
  const root = join(folder, 'root')
  const servers: MeasuredServer[] = []
  try {
    const bare = await MeasuredServer.start('buffer', join(folder, 'bare'))
    servers.push(bare)
    const sheaf = await MeasuredServer.start('sheaf', root, { cacheBytes })
    servers.push(sheaf)
    const body = [files.head, ...files.parts, files.end]
    await clients.ask([{ url: `${sheaf.url}/v1/table/t/create`, headers: asStream, files: body }])
    const threaded = await MeasuredServer.start('sheaf', root, { cacheBytes, workers })
    servers.push(threaded)
    const whole = slices(rows, 1)
    const many = `${readers} readers, by ${workers} threads`
    const wholeInSlices = await inSlices(setting, sheaf, {})
    const halfInSlices = await inSlices(setting, sheaf, { filter })
    const cases = [
      await compared(setting, 'the whole table, against node:http that sends one buffer', [
        {
          name: `node:http, ${readers} readers`,
          server: bare,
          asks: repeated(partOf(files, readers), readers),
        },
        { name: 'node:http, one reader', server: bare, asks: partOf(files, 1) },
        scan('one reader', sheaf, whole, {}),
        wholeInSlices,
        scan(`${readers} pages, by offset`, sheaf, slices(rows, readers), {}),
      ]),
      await compared(setting, 'the whole table, in slices', [
        scan('one reader', sheaf, whole, {}),
        wholeInSlices,
        scan(`${readers} pages, by offset`, sheaf, slices(rows, readers), {}),
      ]),
      await compared(setting, 'half of the rows, by a filter, in slices', [
        scan('one reader', sheaf, whole, { filter }),
        halfInSlices,
      ]),
      await compared(setting, 'half of the rows, by a filter, to each reader', [
        scan('one reader', sheaf, whole, { filter }),
        scan(`${readers} readers`, sheaf, repeated(whole, readers), { filter }),
        scan(`one reader, by ${workers} threads`, threaded, whole, { filter }),
        scan(many, threaded, repeated(whole, readers), { filter }),
      ]),
      await compared(setting, 'ids and texts in LZ4, to each reader', [
        scan('one reader', sheaf, whole, { columns, codecs: 'lz4' }),
        scan(`${readers} readers`, sheaf, repeated(whole, readers), { columns, codecs: 'lz4' }),
        scan(many, threaded, repeated(whole, readers), { columns, codecs: 'lz4' }),
      ]),
      await packed(setting, sheaf, root),
      await memoryOf(setting, root),
      await appended(setting, sheaf, files),
    ]
    return cases

    function partOf({ bytes }: BulkFiles, count: number): Ask[] {
      return [{ url: `${bare.url}/${Math.floor(bytes / count)}` }]
    }
  } finally {
    await Promise.all(servers.map(server => server.close()))
  }
}

// ---- client processes

interface Ask {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly files?: readonly string[]
}

interface Answer {
  readonly bytes: number
  readonly json: Readonly<Record<string, unknown>> | null
}

class Clients {
  readonly #processes: readonly ChildProcess[]

  constructor(count: number) {
    this.#processes = Array.from({ length: count }, () => fork(resolve('bench/bulk-client.mjs')))
  }

  /** Send all requests at the same time, each from a separate process. */
  ask(asks: readonly Ask[]): Promise<Answer[]> {
    return Promise.all(
      asks.map(async (ask, i) => {
        const client = this.#processes[i]!
        client.send(ask)
        const [answer] = await once(client, 'message')
        if (answer.error !== undefined) throw new Error(answer.error)
        return answer as Answer
      }),
    )
  }

  end(): void {
    for (const client of this.#processes) client.disconnect()
  }
}

const asStream = { 'content-type': 'application/vnd.apache.arrow.stream' }
const query = '/v1/table/t/query'
const columns = ['id', 'text']
const filter = `category < 'c${categories / 2}'`

interface Slice {
  readonly offset: number
  readonly k: number
}

function slices(rows: number, count: number): Slice[] {
  return Array.from({ length: count }, (_, i) => {
    const offset = Math.floor((i * rows) / count)
    return { offset, k: Math.floor(((i + 1) * rows) / count) - offset }
  })
}

function repeated<T>(list: readonly T[], times: number): T[] {
  return Array.from({ length: times }, () => list).flat()
}

interface Wanted {
  readonly filter?: string
  readonly columns?: readonly string[]
  readonly codecs?: string
}

function askFor(server: MeasuredServer, slice: Slice, { codecs, ...wanted }: Wanted): Ask {
  const accept = 'application/vnd.apache.arrow.stream'
  return {
    url: server.url + query,
    headers: {
      'content-type': 'application/json',
      accept: codecs === undefined ? accept : `${accept}; codecs=${codecs}`,
    },
    // Name the version, so that all slices come from the same rows.
    body: JSON.stringify({ vector: [], version: 1, ...slice, ...wanted }),
  }
}

// ---- measurements

interface Contestant {
  readonly name: string
  readonly server: MeasuredServer
  readonly asks: readonly Ask[]
}

function scan(name: string, server: MeasuredServer, parts: readonly Slice[], wanted: Wanted): Contestant {
  return { name, server, asks: parts.map(part => askFor(server, part, wanted)) }
}

/** Return a contestant that reads the slices of a read session, one slice per reader. */
async function inSlices(
  { clients, readers }: Setting,
  server: MeasuredServer,
  wanted: Pick<Wanted, 'filter'>,
): Promise<Contestant> {
  const session = `${server.url}/v1/table/t/read_session`
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ version: 1, slices: readers, ...wanted })
  const [begun] = await clients.ask([{ url: `${session}/create`, headers, body }])
  const cut = begun!.json!.slices as readonly { readonly token: string }[]
  const asks = cut.map(({ token }) => ({
    url: `${session}/read`,
    headers: { ...headers, accept: asStream['content-type'] },
    body: JSON.stringify({ token }),
  }))
  return { name: `${readers} slices`, server, asks }
}

interface Measured {
  readonly milliseconds: number
  readonly bytes: number
  readonly cpuSeconds: number
  readonly longestGapMs: number
  readonly megabytesPeak: number
  readonly megabytesMore: number
}

async function measured(clients: Clients, { server, asks }: Contestant): Promise<Measured> {
  await server.tell('forget')
  const before = await server.tell('tell')
  const started = performance.now()
  const answers = await clients.ask(asks)
  const milliseconds = performance.now() - started
  const { peak, longestGapMs, cpuSeconds } = await server.tell('tell')
  return {
    milliseconds,
    bytes: answers.reduce((sum, { bytes }) => sum + bytes, 0),
    cpuSeconds: cpuSeconds - before.cpuSeconds,
    longestGapMs,
    megabytesPeak: peak / 1e6,
    megabytesMore: (peak - before.now) / 1e6,
  }
}

/** Run each contestant once without measuring it. Then run all of them in turn, round after round. */
async function roundsOf(
  { clients, rounds }: Setting,
  contestants: readonly Contestant[],
): Promise<Measured[][]> {
  const all: Measured[][] = contestants.map(() => [])
  for (const contestant of contestants) await measured(clients, contestant)
  for (let round = 0; round < rounds; round++) {
    for (const [i, contestant] of contestants.entries()) all[i]!.push(await measured(clients, contestant))
  }
  return all
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

function speedOf({ bytes, milliseconds }: Measured): number {
  return bytes / milliseconds / 1e3
}

function entryOf(name: string, runs: readonly Measured[], figures: Readonly<Record<string, number>>): Entry {
  const milliseconds = timesOf(Float64Array.from(runs, run => run.milliseconds))
  const { bytes } = runs[0]!
  return {
    name,
    milliseconds,
    gigabytesPerSecond: bytes / milliseconds.p50 / 1e6,
    relativeTime: 1,
    answer: hashOf(bytes),
    figures: {
      megabytesPerSecond: median(runs.map(speedOf)),
      cpuSecondsPerGB: median(runs.map(({ cpuSeconds }) => cpuSeconds / (bytes / 1e9))),
      longestGapMs: Math.max(...runs.map(({ longestGapMs }) => longestGapMs)),
      ...figures,
    },
  }
}

/** Compare contestants: speed and CPU time per byte, relative to the first contestant in the same round. */
async function compared(
  setting: Setting,
  title: string,
  contestants: readonly Contestant[],
): Promise<CaseResult> {
  const all = await roundsOf(setting, contestants)
  const first = all[0]!
  const share = (of: (run: Measured) => number, runs: readonly Measured[]) =>
    median(runs.map((run, round) => of(run) / of(first[round]!)))
  const entries = contestants.map(({ name }, i) => {
    const runs = all[i]!
    const entry = entryOf(name, runs, {
      speedAgainstFirst: share(speedOf, runs),
      cpuPerByteAgainstFirst: share(({ cpuSeconds, bytes }) => cpuSeconds / bytes, runs),
    })
    return { ...entry, relativeTime: share(run => run.milliseconds, runs) }
  })
  return { title, entries }
}

/** Measure the time and the bytes of the columns `id` and `text` with different compression. */
async function packed(setting: Setting, sheaf: MeasuredServer, root: string): Promise<CaseResult> {
  const { rows, cacheBytes, zstd } = setting
  const whole = slices(rows, 1)
  const newer = zstd ? await newerServer(root, cacheBytes) : null
  try {
    const contestants = [
      scan('as they are', sheaf, whole, { columns }),
      scan('LZ4', sheaf, whole, { columns, codecs: 'lz4' }),
      ...(newer === null ? [] : [scan('ZSTD', newer, whole, { columns, codecs: 'zstd' })]),
    ]
    const all = await roundsOf(setting, contestants)
    const plain = all[0]![0]!.bytes
    const entries = contestants.map(({ name }, i) =>
      entryOf(name, all[i]!, { percentOfBytes: (100 * all[i]![0]!.bytes) / plain }),
    )
    return { title: 'ids and texts, compressed, to one reader', entries }
  } finally {
    await newer?.close()
  }
}

/** Start a server with the newer Node, which can write ZSTD. Returns null if this Node is not installed. */
async function newerServer(root: string, cacheBytes: number): Promise<MeasuredServer | null> {
  const execPath = resolve('bench/newer-node/node_modules/node/bin/node')
  if (existsSync(execPath)) return MeasuredServer.start('sheaf', root, { cacheBytes, execPath })
  console.log('ZSTD is not measured, because the package node 22 is not installed in bench/newer-node')
  return null
}

/** Measure how much memory readers of the whole table add to a server that has just started. */
async function memoryOf({ clients, rows, cacheBytes, readers }: Setting, root: string): Promise<CaseResult> {
  const entries: Entry[] = []
  for (let count = 1; count <= readers; count *= 2) {
    const server = await MeasuredServer.start('sheaf', root, { cacheBytes })
    const run = await measured(clients, scan('', server, repeated(slices(rows, 1), count), {}))
    await server.close()
    const { megabytesPeak, megabytesMore } = run
    const figures = { megabytesPeak, megabytesPerReader: megabytesMore / count }
    entries.push(entryOf(`${count} ${count === 1 ? 'reader' : 'readers'}`, [run], figures))
  }
  return { title: 'memory of a new server, the whole table to each reader', entries }
}

/** Append the rows of the table again, as one version, from one process and from several processes. */
async function appended(
  { clients, rounds, readers }: Setting,
  server: MeasuredServer,
  { head, parts, end, bytes }: BulkFiles,
): Promise<CaseResult> {
  const table = `${server.url}/v1/table/t`
  const tell = async (path: string, content: object) => {
    const headers = { 'content-type': 'application/json' }
    const [answer] = await clients.ask([{ url: table + path, headers, body: JSON.stringify(content) }])
    return answer!.json!
  }
  const insert = (files: readonly string[], as = '') => {
    return { url: `${table}/insert${as}`, headers: asStream, files: [head, ...files, end] }
  }
  const writers = {
    'one process': () => clients.ask([insert(parts)]),
    [`${readers} processes, one upload in parts`]: async () => {
      const { upload_id: id } = await tell('/multipart_write/create', { mode: 'Append' })
      await clients.ask(parts.map((part, i) => insert([part], `?upload_id=${id}&upload_part_id=part-${i}`)))
      await tell('/multipart_write/complete', { upload_id: id })
    },
  }
  const entries: Entry[] = []
  for (const [name, write] of Object.entries(writers)) {
    const runs: Measured[] = []
    const { version: first } = await tell('/describe', {})
    for (let round = 0; round < rounds; round++) {
      const { now, cpuSeconds } = await server.tell('forget')
      const started = performance.now()
      await write()
      const milliseconds = performance.now() - started
      const after = await server.tell('tell')
      const megabytesPeak = after.peak / 1e6
      const megabytesMore = (after.peak - now) / 1e6
      const { longestGapMs } = after
      runs.push({
        milliseconds,
        bytes,
        cpuSeconds: after.cpuSeconds - cpuSeconds,
        longestGapMs,
        megabytesPeak,
        megabytesMore,
      })
    }
    const { version: last } = await tell('/describe', {})
    const versions = ((last as number) - (first as number)) / rounds
    entries.push(entryOf(name, runs, { versions }))
  }
  return { title: 'as many rows appended, on disk when it answers', entries }
}
