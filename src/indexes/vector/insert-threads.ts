/**
 * Several threads insert into one graph, in memory that they share. This thread only waits, so its event loop is free. Which edges
 * there are in the end depends on who came first: such a graph is as good as that of one thread, but not the same every time.
 */
import { Worker } from 'node:worker_threads'
import { ErrorCode, SheafError } from '../../errors.js'
import { openSharedArena, Places, type SharedArena, type SharedMemory } from '../../kernels/arena.js'
import {
  type GraphPlaces,
  type GraphShape,
  graphSizes,
  type SharedPlaces,
  sharedSizes,
} from '../../kernels/graph.js'
import { orAborted } from '../../primitives/abort.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { BuiltGraph } from './stored-graph.js'

/** What threads need to insert into one graph. */
export interface Crew {
  readonly arena: SharedArena
  readonly shared: SharedPlaces
  /** One for each thread. */
  readonly scratches: readonly number[]
}

/** What one of them is started with. */
export interface InsertTask {
  readonly memory: SharedMemory
  readonly shape: GraphShape
  /** With the scratch of the thread. */
  readonly places: GraphPlaces
  readonly shared: SharedPlaces
  /** All rows to insert, those of a partition together. */
  readonly rows: Uint32Array
  /** Where in `rows` each partition begins, and where the last ends. */
  readonly starts: Uint32Array
  readonly efConstruction: number
  /** u32s that all change: see `Tally`. */
  readonly tally: Uint32Array
  readonly thread: number
}

/** Words of a tally. Messages may get lost with a thread that dies; what lies in memory is there. */
export const Tally = {
  /** Rows, from the first, that somebody has taken to insert them. */
  taken: 0,
  inserted: 1,
  /** For each thread, whether it has taken any. */
  begun: 2,
} as const

const workerFile = new URL('./insert-worker.js', import.meta.url)

/** An arena for a graph up to `end`, and behind it what `threads` of them need; null where threads cannot share one. */
export function openCrew(shape: GraphShape, end: number, partitions: number, threads: number): Crew | null {
  const places = new Places()
  places.take(end)
  const sizes = sharedSizes(partitions)
  const shared = { locks: places.take(sizes.locks), entries: places.take(sizes.entries) }
  const { scratch } = graphSizes(shape)
  const scratches = Array.from({ length: threads }, () => places.take(scratch))
  const arena = openSharedArena(places.end)
  return arena && { arena, shared, scratches }
}

/**
 * Inserts the rows of each partition from its entry. False: no thread could be started, and nothing was inserted. Rows equal to others
 * are to be joined then (`Graph.join`). Throws code 17 when a thread dies, and the reason of the signal as soon as that fires: the
 * graph is good for nothing then. No thread outlives the call. `file`: what they run.
 */
export async function insertByThreads(
  { arena, shared, scratches }: Crew,
  { shape, places, entries }: Pick<BuiltGraph, 'shape' | 'places' | 'entries'>,
  partitions: readonly Uint32Array[],
  efConstruction: number,
  pacer: Pacer,
  onInserted: (rows: number) => void,
  file: URL = workerFile,
): Promise<boolean> {
  pacer.signal?.throwIfAborted()
  const { rows, starts } = joined(partitions)
  const entryWords = new Int32Array(arena.buffer, shared.entries, 2 * entries.length)
  for (const [i, { row, level }] of entries.entries()) entryWords.set([row, level], 2 * i)
  const tally = sharedWords(Tally.begun + scratches.length)
  const workers: Worker[] = []
  let isOver = false
  try {
    const isDone = new Promise<boolean>((resolve, reject) => {
      let told = 0
      const tell = () => {
        const inserted = Atomics.load(tally, Tally.inserted)
        if (inserted > told) onInserted(inserted - told)
        told = inserted
        if (told === rows.length) resolve(true)
      }
      let alive = scratches.length
      /** Those that never began took nothing along: others do their part. */
      const gone = (thread: number, cause: unknown) => {
        tell()
        if (cause !== undefined && Atomics.load(tally, Tally.begun + thread) === 1) reject(died(cause))
        else if (--alive > 0) return
        else if (Atomics.load(tally, Tally.taken) === 0) resolve(false)
        else reject(died(cause))
      }
      const start = (thread: number) => {
        const workerData: InsertTask = {
          memory: arena.memory,
          shape,
          places: { ...places, scratch: scratches[thread]! },
          shared,
          rows,
          starts,
          efConstruction,
          tally,
          thread,
        }
        try {
          const worker = new Worker(file, { workerData, execArgv: [] })
          let cause: unknown
          worker.on('message', tell)
          worker.on('error', error => {
            cause = error
          })
          worker.on('exit', code => gone(thread, code === 0 ? undefined : (cause ?? `exit code ${code}`)))
          workers.push(worker)
        } catch (error) {
          gone(thread, error)
        }
      }
      const startAll = async () => {
        for (let thread = 0; thread < scratches.length && !isOver; thread++) {
          start(thread)
          await pacer.turn()
        }
      }
      startAll().catch(reject)
    })
    if (!(await orAborted(isDone, pacer.signal))) return false
    for (const [i, entry] of entries.entries()) {
      entry.row = entryWords[2 * i]!
      entry.level = entryWords[2 * i + 1]!
    }
    return true
  } finally {
    isOver = true
    await Promise.all(workers.map(worker => worker.terminate()))
  }
}

function joined(partitions: readonly Uint32Array[]): { rows: Uint32Array; starts: Uint32Array } {
  const starts = new Uint32Array(partitions.length + 1)
  for (const [i, { length }] of partitions.entries()) starts[i + 1] = starts[i]! + length
  const rows = sharedWords(starts.at(-1)!)
  for (const [i, some] of partitions.entries()) rows.set(some, starts[i]!)
  return { rows, starts }
}

function sharedWords(count: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(count * 4))
}

function died(cause: unknown): SheafError {
  const reason = cause instanceof Error ? cause.message : (cause ?? 'it left rows out')
  return new SheafError(ErrorCode.ServiceUnavailable, `a thread that builds a vector index died: ${reason}`, {
    cause,
    hint: 'build again; with connect(path, { buildThreads: 1 }) no threads are needed',
  })
}
