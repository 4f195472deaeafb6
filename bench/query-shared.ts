/**
 * Measures searches of one graph in shared memory by one thread and by two threads, to show whether a second thread
 * slows down the first one.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { graphPlaces } from '../src/indexes/vector/graph-segment.js'
import { insertByThreads, openCrew } from '../src/indexes/vector/insert-threads.js'
import { Graph, type GraphShape, levelsOf } from '../src/kernels/graph.js'
import { Pacer } from '../src/primitives/pacer.js'
import type { Bench, Entry } from './harness.js'
import { clusteredData } from './vector-data.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly centres: number
  readonly queries: number
  readonly ef: number
  /** How often each thread runs all queries in one measurement. `rounds`: the number of measurements. */
  readonly repeats: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'query-shared',
  question: 'how many searches per second do one and two threads make in one graph in shared memory?',
  small: { rows: 1000, dim: 16, centres: 10, queries: 20, ef: 16, repeats: 1, rounds: 2 },
  full: { rows: 100_000, dim: 128, centres: 1000, queries: 500, ef: 64, repeats: 4, rounds: 7 },
  async run({ rows, dim, centres, queries: asked, ef, repeats, rounds }) {
    const data = clusteredData(rows, dim, centres, 1.5, asked)
    const nodes = bytesOf(data.rows)
    const queries = bytesOf(data.queries)
    const m = 16
    const shape: GraphShape = { kind: 'u8', stride: dim, rows, m, levels: levelsOf(0, rows, m), efMax: 256 }
    const places = graphPlaces(shape)
    const crew = openCrew(shape, places.end, 1, 2)
    if (crew === null) throw new Error('WebAssembly has no shared memory on this machine')
    const { arena, shared, scratches } = crew
    new Uint8Array(arena.buffer, places.vectors, nodes.length).set(nodes)
    const graph = new Graph(arena, shape, places, true, shared)
    const entries = [{ row: -1, level: 0 }]
    const all = Uint32Array.from({ length: rows }, (_, row) => row)
    if (
      !(await insertByThreads(
        crew,
        { shape, places, entries },
        { partitions: [all], efConstruction: 100, onInserted: () => {} },
        new Pacer(),
      ))
    ) {
      graph.insertRows(all, entries[0]!, 100)
    } else graph.join(all)
    const walkers: Worker[] = []
    for (const scratch of scratches.slice(0, 2)) {
      const own = { ...places, scratch }
      const workerData = { memory: arena.memory, shape, places: own, shared, entry: entries[0], queries, ef }
      const file = join(fileURLToPath(import.meta.url), '../../../bench/shared-walker.mjs')
      const walker = new Worker(file, { workerData })
      await once(walker, 'message')
      walkers.push(walker)
    }
    const measured: Entry[] = []
    try {
      for (const threads of [1, 2]) {
        const times: number[] = []
        let found = 0
        for (let round = 0; round < rounds; round++) {
          const answers = walkers.slice(0, threads).map(async walker => {
            walker.postMessage(repeats)
            const [answer] = (await once(walker, 'message')) as [Answer]
            return answer
          })
          const came = await Promise.all(answers)
          found = came[0]!.found
          times.push(Math.max(...came.map(({ took }) => took)))
        }
        times.sort((a, b) => a - b)
        const p50 = times[times.length >>> 1]!
        measured.push({
          name: `${threads} ${threads === 1 ? 'thread' : 'threads'}`,
          milliseconds: { min: times[0]!, p50, p95: times.at(-1)! },
          relativeTime: p50 / (measured[0]?.milliseconds.p50 ?? p50),
          answer: String(found),
          figures: { perSecond: (1000 * threads * repeats * asked) / p50 },
        })
      }
    } finally {
      for (const walker of walkers) await walker.terminate()
    }
    return [
      { title: `ef ${ef}, k 10, ${data.name}, ${arena.buffer.byteLength} bytes shared`, entries: measured },
    ]
  },
}

interface Answer {
  readonly found: number
  readonly took: number
}

/** Convert elements to bytes: 0 stands for -m and 255 for m, where m is the largest absolute value of an element. */
function bytesOf(values: Float32Array): Uint8Array {
  let greatest = 0
  for (const value of values) greatest = Math.max(greatest, Math.abs(value))
  return Uint8Array.from(values, value => Math.round(127.5 * (1 + value / greatest)))
}
