import { execFileSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { seededRandom } from '../../../bench/random.js'
import { buildSegment } from '../../../src/indexes/vector/build.js'
import { graphPlaces } from '../../../src/indexes/vector/graph-segment.js'
import type { VectorInput } from '../../../src/indexes/vector/input.js'
import { insertByThreads, openCrew } from '../../../src/indexes/vector/insert-threads.js'
import { openSegment } from '../../../src/indexes/vector/open.js'
import { Graph, levelsOf } from '../../../src/kernels/graph.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { built, shipped } from '../../adapters/built.js'
import { collected, opened } from '../../support/section-files.js'

const real = pathToFileURL(built('src/indexes/vector/insert-worker.ts'))
const missing = new URL('./no-such-worker.js', import.meta.url)
const code = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`)
/** A thread that takes rows, and what `text` does then. */
const dying = (text: string) =>
  code(`import { workerData } from 'node:worker_threads'; const { tally, thread } = workerData; ${text}`)

function start(
  rows: number,
  file: URL,
  { signal, onInserted }: { signal?: AbortSignal; onInserted?: () => void },
) {
  const shape = { kind: 'u8', stride: 16, rows, m: 8, levels: levelsOf(0, rows, 8), efMax: 200 } as const
  const places = graphPlaces(shape)
  const crew = openCrew(shape, places.end, 1, 2)!
  const graph = new Graph(crew.arena, shape, places, true, crew.shared)
  const draw = seededRandom(1)
  const values = new Uint8Array(crew.arena.buffer, places.vectors, rows * 16)
  for (let i = 0; i < values.length; i++) values[i] = draw() * 256
  const entry = { row: -1, level: 0 }
  const all = Uint32Array.from({ length: rows }, (_, row) => row)
  return {
    graph,
    entry,
    all,
    isDone: insertByThreads(
      crew,
      { shape, places, entries: [entry] },
      { partitions: [all], efConstruction: 200, onInserted: onInserted ?? (() => {}), file },
      new Pacer(signal),
    ),
  }
}

test('where no thread can be started, nothing is inserted', async () => {
  const { entry, isDone } = start(100, missing, {})
  expect(await isDone).toBe(false)
  expect(entry).toEqual({ row: -1, level: 0 })
})

test('a build continues with the threads that could start', async () => {
  const file = code(`
    import { workerData } from 'node:worker_threads'
    if (workerData.thread === 0) throw new Error('no memory')
    await import(${JSON.stringify(real.href)})`)
  const { graph, entry, all, isDone } = start(300, file, {})
  expect(await isDone).toBe(true)
  graph.join(all)
  expect(graph.walk([entry], 200, 200, false).found).toBe(200)
})

test.each([
  ['throws', `throw new Error('out of luck')`, 'died: out of luck'],
  ['exits', 'process.exit(3)', 'died: exit code 3'],
  ['leaves rows out', '', 'died: it skipped rows'],
])('a thread that %s fails the call', async (_, end, message) => {
  const text = 'Atomics.store(tally, 2 + thread, 1); Atomics.add(tally, 0, 64);'
  const { isDone } = start(100, dying(text + end), {})
  await expect(isDone).rejects.toMatchObject({ code: 17, message: expect.stringContaining(message) })
})

test('a build can be aborted promptly', async () => {
  const reason = new Error('enough')
  await expect((async () => start(100, real, { signal: AbortSignal.abort(reason) }).isDone)()).rejects.toBe(
    reason,
  )
  const giveUp = new AbortController()
  let told = 0
  // Many seconds of work.
  const { isDone } = start(100_000, real, {
    signal: giveUp.signal,
    onInserted() {
      told++
      giveUp.abort(reason)
    },
  })
  await expect(isDone).rejects.toBe(reason)
  expect(told).toBeLessThan(10)
})

test('the shipped package builds large segments with threads, and its process ends by itself', () => {
  const script = `
    import { connect } from ${JSON.stringify(pathToFileURL(shipped('index')).href)}
    let [started, online] = [0, 0]
    process.on('worker', worker => {
      started++
      worker.on('online', () => online++)
    })
    const ns = await connect('memory://', { buildThreads: 2 })
    const rows = Array.from({ length: 20_000 }, (_, i) => ({ i, v: [Math.sin(i), Math.cos(i * 7)] }))
    const table = await ns.createTable('t', rows, { vectorColumns: ['v'] })
    await table.createIndex('v', { type: 'IVF_HNSW_SQ', m: 4, efConstruction: 10, waitTimeoutMs: 60_000 })
    const found = await table.search(rows[77].v).limit(1).toArray()
    // On busy cores, the first thread can finish before the second is online.
    console.log(started, online > 0, found[0].i)
  `
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(out.trim()).toBe('2 true 77')
})

test('without threads the calling thread builds a large segment', async () => {
  const [rows, dim] = [20_000, 3]
  const draw = seededRandom(1)
  const all = Float32Array.from({ length: rows * dim }, () => draw())
  const input: VectorInput = {
    first: 0,
    rows,
    dim,
    kind: 'f32',
    async *pieces() {
      for (let first = 0; first < rows; first += 4000)
        yield { first, rows: 4000, values: all.subarray(first * dim, (first + 4000) * dim), present: null }
    },
  }
  const spec = { kind: 'IVF_HNSW_FLAT', metric: 'l2', parameters: { m: 4, efConstruction: 8 } } as const
  // Here it is TypeScript that runs, and no file for threads lies beside it.
  const file = await buildSegment(spec, input, null, new Pacer(), () => {}, 2)
  const { bytes, crc } = await collected(file)
  const segment = await openSegment(opened(bytes, crc), rows, dim)
  expect(segment.facts.vectors).toBe(rows)
  expect(segment.facts.recall).toBeGreaterThan(0.9)
})
