/**
 * Inserts rows into one graph in shared memory with several threads. The calling thread only waits, so its event loop
 * stays free. The edges depend on the order in which threads insert. Therefore the graph differs between builds, but
 * has the same quality as with one thread.
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
import { deferred } from '../../primitives/deferred.js'
import { threadFile } from '../../primitives/module-files.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { BuiltGraph } from './stored-graph.js'

/** The shared memory for threads that insert into one graph. */
export interface Crew {
  readonly arena: SharedArena
  readonly shared: SharedPlaces
  /** For each thread: the address of its scratch memory. */
  readonly scratches: readonly number[]
}

/** The `workerData` of an insert thread. */
export interface InsertTask {
  readonly memory: SharedMemory
  readonly shape: GraphShape
  /** The addresses of the graph. `scratch` is the scratch memory of this thread. */
  readonly places: GraphPlaces
  readonly shared: SharedPlaces
  /** All rows to insert, partition by partition. */
  readonly rows: Uint32Array
  /** For each partition: the offset of its first row in `rows`. The last element is the end of the last partition. */
  readonly starts: Uint32Array
  readonly efConstruction: number
  /** Shared counters (u32). `Tally` defines their indexes. */
  readonly tally: Uint32Array
  readonly thread: number
}

/**
 * The indexes of the shared counters. Counters are in shared memory, because messages of a thread that dies may get
 * lost.
 */
export const Tally = {
  /** Number of rows that threads have claimed. Threads claim rows in the order of `rows`. */
  taken: 0,
  inserted: 1,
  /** For each thread: 1 after it has started. */
  begun: 2,
} as const

/**
 * Start a thread. `file` is null if the file was not found, because a bundler packed Sheaf into a program. Bundlers
 * recognize `new Worker(new URL(...))` and include the file, so this expression must stay as it is.
 */
function startWorker(file: URL | string | null, workerData: InsertTask): Worker {
  return file === null
    ? new Worker(new URL('./insert-worker.js', import.meta.url), { workerData, execArgv: [] })
    : new Worker(file, { workerData, execArgv: [] })
}

/**
 * Open shared memory. The first `end` bytes are for the graph; the locks and the scratch memory of `threads` threads
 * follow. Return null if threads cannot share an arena on this host.
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

/** The rows to insert, by partition, and the parameters of the insertion. */
interface Insertion {
  readonly partitions: readonly Uint32Array[]
  readonly efConstruction: number
  /** Called with the number of rows that have just been inserted. */
  onInserted(rows: number): void
  /** The module that the threads run. Only tests set this member. */
  readonly file?: URL | string | null
}

/**
 * Insert the rows of each partition, starting from its entry point. All threads have ended when the call returns.
 *
 * Return true if all rows were inserted. Then the caller must join equal rows (`Graph.join`). Return false if no thread
 * could be started. Then no row was inserted. Throws ServiceUnavailable if a thread dies, and the reason of the abort
 * signal as soon as it is aborted. After an error the graph is unusable.
 */
export async function insertByThreads(
  { arena, shared, scratches }: Crew,
  { shape, places, entries }: Pick<BuiltGraph, 'shape' | 'places' | 'entries'>,
  {
    partitions,
    efConstruction,
    onInserted,
    file = threadFile('insert-worker.js', import.meta.url),
  }: Insertion,
  pacer: Pacer,
): Promise<boolean> {
  pacer.signal?.throwIfAborted()
  const { rows, starts } = joined(partitions)
  const entryWords = new Int32Array(arena.buffer, shared.entries, 2 * entries.length)
  for (const [i, { row, level }] of entries.entries()) entryWords.set([row, level], 2 * i)
  const tally = sharedWords(Tally.begun + scratches.length)
  const { memory } = arena
  const tasks = scratches.map((scratch, thread): InsertTask => {
    const own = { ...places, scratch }
    return { memory, shape, places: own, shared, rows, starts, efConstruction, tally, thread }
  })
  const threads = new InsertThreads(tasks, file, onInserted)
  try {
    threads.start(pacer)
    if (!(await orAborted(threads.isDone, pacer.signal))) return false
    for (const [i, entry] of entries.entries()) {
      entry.row = entryWords[2 * i]!
      entry.level = entryWords[2 * i + 1]!
    }
    return true
  } finally {
    await threads.end()
  }
}

/** The threads of one call of `insertByThreads`. */
class InsertThreads {
  readonly #tasks: readonly InsertTask[]
  readonly #file: URL | string | null
  readonly #onInserted: (rows: number) => void
  readonly #tally: Uint32Array
  readonly #rows: number
  readonly #done = deferred<boolean>()
  readonly #workers: Worker[] = []
  /** Number of inserted rows that were reported to `onInserted`. */
  #reported = 0
  /** Number of threads that are running or not started yet. */
  #alive: number
  #isOver = false

  constructor(tasks: readonly InsertTask[], file: URL | string | null, onInserted: (rows: number) => void) {
    const { tally, rows } = tasks[0]!
    this.#tasks = tasks
    this.#file = file
    this.#onInserted = onInserted
    this.#tally = tally
    this.#rows = rows.length
    this.#alive = tasks.length
  }

  /**
   * A promise. It resolves to true when all rows are inserted, and to false if no thread claimed a row. It rejects if a
   * thread dies.
   */
  get isDone(): Promise<boolean> {
    return this.#done.promise
  }

  /** Start the threads. Yields to the event loop between two starts. */
  start(pacer: Pacer): void {
    const startAll = async () => {
      for (let thread = 0; thread < this.#tasks.length && !this.#isOver; thread++) {
        this.#start(thread)
        await pacer.turn()
      }
    }
    startAll().catch(error => this.#done.reject(error))
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#workers.map(worker => worker.terminate()))
  }

  #start(thread: number): void {
    try {
      const worker = startWorker(this.#file, this.#tasks[thread]!)
      let cause: unknown
      worker.on('message', () => this.#report())
      worker.on('error', error => {
        cause = error
      })
      worker.on('exit', code =>
        this.#noteExit(thread, code === 0 ? undefined : (cause ?? `exit code ${code}`)),
      )
      this.#workers.push(worker)
    } catch (error) {
      this.#noteExit(thread, error)
    }
  }

  #report(): void {
    const inserted = Atomics.load(this.#tally, Tally.inserted)
    if (inserted > this.#reported) this.#onInserted(inserted - this.#reported)
    this.#reported = inserted
    if (inserted === this.#rows) this.#done.resolve(true)
  }

  /**
   * Note that a thread has exited. A thread that exits before it has started has claimed no rows. So this is not an
   * error: the other threads insert all rows. `cause`: the error; undefined after a normal exit.
   */
  #noteExit(thread: number, cause: unknown): void {
    this.#report()
    if (cause !== undefined && Atomics.load(this.#tally, Tally.begun + thread) === 1) {
      this.#done.reject(died(cause))
    } else if (--this.#alive > 0) return
    else if (Atomics.load(this.#tally, Tally.taken) === 0) this.#done.resolve(false)
    else this.#done.reject(died(cause))
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
    hint: 'build the index again, or use connect(path, { buildThreads: 1 }) to build without threads',
  })
}
