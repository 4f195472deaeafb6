/** Measures SQL filters through the public API, compared with optimized plain JavaScript over the same typed arrays. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Batch, Column, Values } from '../src/arrow/column.js'
import { concatChunks, encodeIpcStream } from '../src/arrow/encode-ipc.js'
import type { DataType, Schema } from '../src/arrow/types.js'
import { connect, type Namespace, type Table } from '../src/index.js'
import { bindFilter } from '../src/sql/binding/bind.js'
import { parseExpression } from '../src/sql/syntax/parse.js'
import {
  type Bench,
  type CaseResult,
  type Contestant,
  type Entry,
  hashOf,
  longestGap,
  race,
} from './harness.js'
import { seededRandom } from './random.js'

interface Parameters {
  readonly rows: number
  /** Number of members of the long IN list. */
  readonly members: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'query-sql',
  question: 'how much slower is a SQL filter than an optimized loop written by hand?',
  small: { rows: 20_000, members: 1_000, rounds: 3 },
  full: { rows: 5_000_000, members: 100_000, rounds: 25 },
  async run({ rows, members, rounds }) {
    const pieces = makePieces(rows, 1)
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const ns = await connect(join(folder, 'root'))
    try {
      const table = await fillTable(ns, pieces)
      const results: CaseResult[] = []
      for (const task of countTasks(rows)) {
        const title = `${task.filter}: count of ${rows} rows`
        results.push(await race({ title, contestants: [loop(task, pieces), count(task, table)], rounds }))
      }
      results.push(await fetching(table, pieces, rows, rounds))
      results.push(await reading(rounds))
      results.push(await longList(table, members, rows, rounds))
      results.push(await gaps(ns, table, members, rows))
      return results
    } finally {
      await ns.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

// ---- the rows

/** Consecutive rows as the arrays that an Arrow record batch has. */
export interface Piece {
  readonly rows: number
  /** The row number in the table. */
  readonly id: BigInt64Array
  /** A random number in [0, 1). */
  readonly x: Float64Array
  /** One of the texts 'a0' .. 'a99'. The text of row i is `bytes[offsets[i] .. offsets[i + 1]]`. */
  readonly cat: { readonly bytes: Uint8Array; readonly offsets: Int32Array }
  /** One bit per row. Half of the bits are set. */
  readonly flag: Uint8Array
  /** A time in microseconds: a random second of the year that begins 2024-01-01. */
  readonly ts: BigInt64Array
}

/** Number of rows of one fragment. */
const pieceRows = 1024 * 1024

const microsPerSecond = 1_000_000n
const yearStart = BigInt(Date.UTC(2024, 0, 1)) * 1000n
const yearSeconds = 365 * 24 * 60 * 60

export function makePieces(rows: number, seed: number): Piece[] {
  const random = seededRandom(seed)
  const cats = Array.from({ length: 100 }, (_, i) => new TextEncoder().encode(`a${i}`))
  const pieces: Piece[] = []
  for (let first = 0; first < rows; first += pieceRows) {
    const length = Math.min(pieceRows, rows - first)
    const id = new BigInt64Array(length)
    const x = new Float64Array(length)
    const ts = new BigInt64Array(length)
    const flag = new Uint8Array(Math.ceil(length / 8))
    const offsets = new Int32Array(length + 1)
    const bytes = new Uint8Array(3 * length)
    for (let i = 0; i < length; i++) {
      id[i] = BigInt(first + i)
      x[i] = random()
      const cat = cats[Math.floor(100 * random())]!
      bytes.set(cat, offsets[i]!)
      offsets[i + 1] = offsets[i]! + cat.length
      if (random() < 0.5) flag[i >>> 3]! |= 1 << (i & 7)
      ts[i] = yearStart + BigInt(Math.floor(yearSeconds * random())) * microsPerSecond
    }
    const cat = { bytes: bytes.slice(0, offsets[length]), offsets }
    pieces.push({ rows: length, id, x, cat, flag, ts })
  }
  return pieces
}

const int64: DataType = { kind: 'int', bits: 64, signed: true }
export const schema: Schema = {
  fields: [
    { name: 'id', type: int64, nullable: false },
    { name: 'x', type: { kind: 'float', bits: 64 }, nullable: false },
    { name: 'cat', type: { kind: 'utf8', large: false }, nullable: false },
    { name: 'flag', type: { kind: 'bool' }, nullable: false },
    { name: 'ts', type: { kind: 'timestamp', unit: 'us', timezone: null }, nullable: false },
  ],
}

function batchOf({ rows, id, x, cat, flag, ts }: Piece): Batch {
  const column = (index: number, values: Values, offsets: Int32Array | null = null): Column => ({
    type: schema.fields[index]!.type,
    length: rows,
    nullCount: 0,
    validity: null,
    values,
    offsets,
    children: [],
    dictionary: null,
  })
  const columns = [
    column(0, id),
    column(1, x),
    column(2, cat.bytes, cat.offsets),
    column(3, flag),
    column(4, ts),
  ]
  return { schema, length: rows, columns }
}

/** Encode the rows as an Arrow IPC stream. */
export function encodePieces(pieces: readonly Piece[]): Uint8Array {
  return concatChunks(encodeIpcStream(schema, pieces.map(batchOf)))
}

/** Create a table of the rows, with one fragment per piece. */
export async function fillTable(ns: Namespace, pieces: readonly Piece[]): Promise<Table> {
  const table = await ns.createTable('t', encodePieces(pieces.slice(0, 1)))
  for (const piece of pieces.slice(1)) await table.add(encodePieces([piece]))
  return table
}

// ---- counting

export interface CountTask {
  readonly filter: string
  /** The plain loop for the filter. It has no branches that depend on values, and reads all arrays in order. */
  readonly count: (piece: Piece) => number
}

export function countTasks(rows: number): CountTask[] {
  const [first, last] = middle(rows)
  return [
    { filter: "x > 0.5 AND cat IN ('a7','a9') AND flag", count: countThree },
    { filter: "cat LIKE 'a1%'", count: countPrefix },
    { filter: `id BETWEEN ${first} AND ${last}`, count: piece => countBetween(piece, first, last) },
    { filter: "ts >= timestamp '2024-05-06 13:00:00'", count: countSince },
  ]
}

/** Return a range with a twentieth of the ids. */
function middle(rows: number): readonly [first: number, last: number] {
  const first = Math.floor(rows / 2)
  return [first, first + Math.floor(rows / 20)]
}

const [letter, one, seven, nine] = new TextEncoder().encode('a179')

function countThree({ rows, x, cat, flag }: Piece): number {
  const { bytes, offsets } = cat
  let count = 0
  let start = 0
  for (let i = 0; i < rows; i++) {
    const end = offsets[i + 1]!
    const last = bytes[start + 1]!
    count +=
      Number(x[i]! > 0.5) &
      (flag[i >>> 3]! >>> (i & 7)) &
      Number(end - start === 2) &
      Number(bytes[start] === letter) &
      (Number(last === seven) | Number(last === nine))
    start = end
  }
  return count
}

function countPrefix({ rows, cat: { bytes, offsets } }: Piece): number {
  let count = 0
  let start = 0
  for (let i = 0; i < rows; i++) {
    const end = offsets[i + 1]!
    count += Number(end - start >= 2) & Number(bytes[start] === letter) & Number(bytes[start + 1] === one)
    start = end
  }
  return count
}

function countBetween({ rows, id }: Piece, first: number, last: number): number {
  const least = BigInt(first)
  const greatest = BigInt(last)
  let count = 0
  // A branch is cheap here: the ids ascend, so the CPU predicts it.
  for (let i = 0; i < rows; i++) if (id[i]! >= least && id[i]! <= greatest) count++
  return count
}

function countSince({ rows, ts }: Piece): number {
  const since = BigInt(Date.UTC(2024, 4, 6, 13)) * 1000n
  let count = 0
  for (let i = 0; i < rows; i++) count += Number(ts[i]! >= since)
  return count
}

export function loop({ count }: CountTask, pieces: readonly Piece[]): Contestant {
  return { name: 'plain loop', run: () => pieces.reduce((sum, piece) => sum + count(piece), 0) }
}

export function count({ filter }: CountTask, table: Table): Contestant {
  return { name: 'countRows', run: () => table.countRows(filter) }
}

// ---- fetching

async function fetching(
  table: Table,
  pieces: readonly Piece[],
  rows: number,
  rounds: number,
): Promise<CaseResult> {
  const [first, last] = middle(rows)
  const filter = `id BETWEEN ${first} AND ${last} AND flag`
  const search = table.query().where(filter).select(['id', 'x', 'cat'])
  const plain = () => {
    const found: { id: number; x: number; cat: string }[] = []
    for (const { rows, id, x, cat, flag } of pieces) {
      const text = Buffer.from(cat.bytes.buffer, cat.bytes.byteOffset, cat.bytes.byteLength)
      for (let i = 0; i < rows; i++) {
        if (id[i]! < BigInt(first) || id[i]! > BigInt(last) || ((flag[i >>> 3]! >>> (i & 7)) & 1) === 0)
          continue
        const [start, end] = [cat.offsets[i]!, cat.offsets[i + 1]!]
        found.push({ id: Number(id[i]), x: x[i]!, cat: text.toString('latin1', start, end) })
      }
    }
    return found
  }
  return race({
    title: `${filter}: the rows as objects`,
    contestants: [
      { name: 'plain loop', run: plain },
      { name: 'toArray', run: async () => (await search.toArray()) as ReturnType<typeof plain> },
      { name: 'toIpc', run: async () => (await search.toIpc()).length },
    ],
    rounds,
  })
}

// ---- reading SQL

/** How often a filter is parsed per round. So the milliseconds of a round are the microseconds of one parse. */
const readsPerRound = 1000

function reading(rounds: number): Promise<CaseResult> {
  const [{ filter }] = countTasks(1) as [CountTask]
  const repeat = (read: () => unknown) => () => {
    for (let i = 0; i < readsPerRound; i++) read()
    return 0
  }
  return race({
    title: `${filter}: ${readsPerRound} times, so ms are us each`,
    contestants: [
      { name: 'parse', run: repeat(() => parseExpression(filter)) },
      { name: 'parse and bind', run: repeat(() => bindFilter(filter, schema)) },
    ],
    rounds,
  })
}

function longList(table: Table, members: number, rows: number, rounds: number): Promise<CaseResult> {
  const ids = memberIds(members, rows)
  const filter = listFilter(ids)
  return race({
    title: `id IN (${members} numbers)`,
    contestants: [
      { name: 'parse', run: () => Number(parseExpression(filter).kind === 'in') },
      { name: 'parse and bind', run: () => bindFilter(filter, schema).columns.length },
      { name: 'countRows', run: () => table.countRows(filter) },
      { name: 'countRows with a parameter', run: () => table.countRows('id IN (?)', [ids]) },
    ],
    rounds,
  })
}

/** Return the members of the list in random order. About half of them are ids of rows. */
function memberIds(members: number, rows: number): number[] {
  const random = seededRandom(3)
  return Array.from({ length: members }, () => Math.floor(2 * rows * random()))
}

function listFilter(ids: readonly number[]): string {
  return `id IN (${ids.join(', ')})`
}

// ---- the event loop

/** How often each kind of work is measured. */
const watches = 5

/** Measure the maximum event-loop delay of each kind of work. */
async function gaps(ns: Namespace, table: Table, members: number, rows: number): Promise<CaseResult> {
  const list = listFilter(memberIds(members, rows))
  const ordered = (k: number) => ({ id: ['t'], k, filter: 'true', order_by: [{ column_name: 'x' }] })
  const work: Readonly<Record<string, () => Promise<number>>> = {
    ...Object.fromEntries(countTasks(rows).map(({ filter }) => [filter, () => table.countRows(filter)])),
    [`id IN (${members} numbers)`]: () => table.countRows(list),
    "regexp_like(cat, '^a[1-3].*7$')": () => table.countRows("regexp_like(cat, '^a[1-3].*7$')"),
    'ORDER BY x LIMIT 10': async () => (await ns.operations.queryTable(ordered(10))).chunks.length,
    'ORDER BY x': async () => (await ns.operations.queryTable(ordered(rows))).chunks.length,
  }
  const entries: Entry[] = []
  for (const [name, run] of Object.entries(work)) entries.push(await watched(name, run))
  return { title: 'longest time without a turn of the event loop', entries }
}

async function watched(name: string, run: () => Promise<number>): Promise<Entry> {
  const answer = hashOf(await run())
  const times: number[] = []
  const longest: number[] = []
  for (let i = 0; i < watches; i++) {
    const gap = longestGap()
    const started = performance.now()
    await run()
    times.push(performance.now() - started)
    longest.push(gap())
  }
  const [min, , p50, , p95] = times.sort((a, b) => a - b) as [number, number, number, number, number]
  longest.sort((a, b) => a - b)
  const figures = { medianGapMs: longest[watches >> 1]!, longestGapMs: longest.at(-1)! }
  return { name, milliseconds: { min, p50, p95 }, relativeTime: 1, answer, figures }
}
