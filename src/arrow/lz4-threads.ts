/**
 * A pool of worker threads that encode LZ4 frames, so that the event loop only copies the bytes. The pool starts a
 * thread when there is work. Idle threads do not keep the process alive. The frames have the same bytes as those of
 * `encodeLz4Frame`.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { orAborted } from '../primitives/abort.js'
import { threadFile } from '../primitives/module-files.js'

/**
 * A message to a thread. The thread answers with the frame, or with null if the frame would not be shorter than
 * `mostBytes`.
 */
export interface Lz4Task {
  readonly plain: Uint8Array
  readonly mostBytes: number
}

interface Job extends Lz4Task {
  readonly resolve: (frame: Uint8Array | null | undefined) => void
  readonly signal: AbortSignal | undefined
}

interface Thread {
  readonly worker: Worker
  job: Job | null
}

/**
 * Start a thread. `file`: the program of the thread. Null: the file was not found, because the code was bundled.
 * Bundlers recognize this form of `new Worker(new URL(...))`, and replace it by the bundled worker.
 */
function startWorker(file: URL | string | null): Worker {
  return file === null
    ? new Worker(new URL('./lz4-worker.js', import.meta.url), { execArgv: [] })
    : new Worker(file, { execArgv: [] })
}

/** A pool of LZ4 threads. */
export class Lz4Threads {
  readonly #file: URL | string | null
  readonly #maxThreads: number
  readonly #threads = new Set<Thread>()
  readonly #waiting: Job[] = []
  /** Whether threads do not work on this host. If true, no thread is started, and all callers encode their frames. */
  #isUnavailable = false
  #hasAnswered = false

  /**
   * `maxThreads`: maximum number of threads; default: the number of processors, at most 4. `file`: the program of a
   * thread; default: `lz4-worker.js`, or null if it was not found.
   */
  constructor(
    maxThreads = Math.min(4, availableParallelism()),
    file: URL | string | null = threadFile('lz4-worker.js', import.meta.url),
  ) {
    this.#maxThreads = maxThreads
    this.#file = file
  }

  /**
   * Encode `plain`, which must not change before the promise resolves. Resolves to the frame, or to null if the frame
   * would not be shorter than `mostBytes`. Resolves to undefined if no thread is available or the thread exited; then
   * the caller must encode the frame. Rejects with the reason of the signal.
   */
  encode(
    plain: Uint8Array,
    mostBytes: number,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | null | undefined> {
    const encoded = new Promise<Uint8Array | null | undefined>(resolve => {
      this.#waiting.push({ plain, mostBytes, resolve, signal })
    })
    this.#dispatch()
    return orAborted(encoded, signal)
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      if (this.#isUnavailable) {
        for (const { resolve } of this.#waiting.splice(0)) resolve(undefined)
        return
      }
      const thread = this.#idle() ?? (this.#threads.size < this.#maxThreads ? this.#start() : null)
      if (thread === null) {
        if (this.#threads.size > 0) return
        continue
      }
      const job = this.#waiting.shift()!
      // The promise of the caller is already rejected, so the value has no effect.
      if (job.signal?.aborted) job.resolve(undefined)
      else this.#give(thread, job)
    }
  }

  #give(thread: Thread, job: Job): void {
    thread.job = job
    try {
      // `postMessage` transfers the memory to the thread, so the caller could not use it afterwards. Transfer a copy.
      const task: Lz4Task = { plain: new Uint8Array(job.plain), mostBytes: job.mostBytes }
      thread.worker.postMessage(task, [task.plain.buffer as ArrayBuffer])
      thread.worker.ref()
    } catch {
      // The copy could not be allocated.
      thread.job = null
      job.resolve(undefined)
    }
  }

  #idle(): Thread | undefined {
    for (const thread of this.#threads) if (thread.job === null) return thread
    return undefined
  }

  /** Start a thread and add it to the pool. Returns null if it cannot be started. Other threads continue. */
  #start(): Thread | null {
    let worker: Worker
    try {
      worker = startWorker(this.#file)
    } catch {
      this.#isUnavailable = this.#threads.size === 0
      return null
    }
    const thread: Thread = { worker, job: null }
    this.#threads.add(thread)
    worker.unref()
    worker.on('message', (frame: Uint8Array | null) => {
      const { job } = thread
      thread.job = null
      this.#hasAnswered = true
      worker.unref()
      job?.resolve(frame)
      this.#dispatch()
    })
    // Without a listener the error would be thrown. An 'exit' event follows, whose listener handles the failure.
    worker.on('error', () => {})
    worker.on('exit', () => {
      this.#threads.delete(thread)
      if (!this.#hasAnswered && this.#threads.size === 0) this.#isUnavailable = true
      thread.job?.resolve(undefined)
      this.#dispatch()
    })
    return thread
  }
}
