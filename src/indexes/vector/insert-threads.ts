/**
 * Inserts rows into one graph with several threads, in shared memory. The calling thread only waits, so its event loop stays free.
 * The edges depend on the order in which threads insert. The graph has the same quality as with one thread, but differs between builds.
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
import { threadFile } from '../../primitives/module-files.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { BuiltGraph } from './stored-graph.js'

/** The shared memory in which threads insert into one graph. */
export interface Crew {
  readonly arena: SharedArena
  readonly shared: SharedPlaces
  /** Address of the scratch memory of each thread. */
  readonly scratches: readonly number[]
}

/** `workerData` of an insert thread. */
export interface InsertTask {
  readonly memory: SharedMemory
  readonly shape: GraphShape
  /** Addresses of the graph; `scratch` is that of this thread. */
  readonly places: GraphPlaces
  readonly shared: SharedPlaces
  /** All rows to insert, partition by partition. */
  readonly rows: Uint32Array
  /** Offset in `rows` of each partition; the last element is the end of the last partition. */
  readonly starts: Uint32Array
  readonly efConstruction: number
  /** Shared counters (u32): see `Tally`. */
  readonly tally: Uint32Array
  readonly thread: number
}

/** Indexes of the counters. They are in shared memory because messages of a thread that dies may get lost. */
export const Tally = {
  /** Number of rows that threads have claimed. Threads claim rows in the order of `rows`. */
  taken: 0,
  inserted: 1,
  /** For each thread: 1 after it has started. */
  begun: 2,
} as const

/** Start a thread. If its file was not found, a bundler must know it: bundlers look for this form of `new Worker`. */
function startWorker(file: URL | string | null, workerData: InsertTask): Worker {
  return file === null
    ? new Worker(new URL('./insert-worker.js', import.meta.url), { workerData, execArgv: [] })
    : new Worker(file, { workerData, execArgv: [] })
}

/**
 * Open shared memory: the first `end` bytes for the graph, then the memory of `threads` threads. Return null if threads cannot share
 * an arena.
 */
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
 * Insert the rows of each partition, starting from its entry point. `file`: the module that the threads run.
 * Return false if no thread could be started; then nothing was inserted. Otherwise the caller must join equal rows (`Graph.join`).
 * Throws ServiceUnavailable if a thread dies, and the reason of the abort signal as soon as it fires; the graph is unusable then.
 * All threads have ended when the call returns.
 */
export async function insertByThreads(
  { arena, shared, scratches }: Crew,
  { shape, places, entries }: Pick<BuiltGraph, 'shape' | 'places' | 'entries'>,
  partitions: readonly Uint32Array[],
  efConstruction: number,
  pacer: Pacer,
  onInserted: (rows: number) => void,
  file: URL | string | null = threadFile('insert-worker.js', import.meta.url),
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
      let reported = 0
      const report = () => {
        const inserted = Atomics.load(tally, Tally.inserted)
        if (inserted > reported) onInserted(inserted - reported)
        reported = inserted
        if (reported === rows.length) resolve(true)
      }
      let alive = scratches.length
      /** A thread that exits before it has started has claimed no rows, so the other threads insert all rows. */
      const onExit = (thread: number, cause: unknown) => {
        report()
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
          const worker = startWorker(file, workerData)
          let cause: unknown
          worker.on('message', report)
          worker.on('error', error => {
            cause = error
          })
          worker.on('exit', code => onExit(thread, code === 0 ? undefined : (cause ?? `exit code ${code}`)))
          workers.push(worker)
        } catch (error) {
          onExit(thread, error)
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
  const reason = cause instanceof Error ? cause.message : (cause ?? 'it skipped rows')
  return new SheafError(ErrorCode.ServiceUnavailable, `a thread that builds a vector index died: ${reason}`, {
    cause,
    hint: 'build again; with connect(path, { buildThreads: 1 }) no threads are needed',
  })
}
