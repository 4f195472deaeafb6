/**
 * Worker threads that encode LZ4 frames, so that the event loop only copies the bytes. Threads start when there is
 * work, and do not keep the process alive while they wait. They write the same frames as `encodeLz4Frame`.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { orAborted } from '../primitives/abort.js'
import { threadFile } from '../primitives/module-files.js'

/** The message to a thread. The answer is the frame, or null if the frame would not be shorter than `mostBytes`. */
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

/** Start a thread. If its file was not found, a bundler must know it: bundlers look for this form of `new Worker`. */
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
  /** Set if no thread works on this host; then no further thread is started. */
  #isUnavailable = false
  #hasAnswered = false

  /** `maxThreads`: the most threads; default: the processors, at most 4. `file`: the program of a thread. */
  constructor(
    maxThreads = Math.min(4, availableParallelism()),
    file: URL | string | null = threadFile('lz4-worker.js', import.meta.url),
  ) {
    this.#maxThreads = maxThreads
    this.#file = file
  }

  /**
   * Encode the frame of `plain`, which must not change meanwhile. Resolves to null if the frame would not be shorter
   * than `mostBytes`. Resolves to undefined if no thread is available or the thread died: then the caller encodes the
   * frame. Rejects with the reason of the signal.
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
      // The caller has canceled.
      if (job.signal?.aborted) job.resolve(undefined)
      else this.#give(thread, job)
    }
  }

  #give(thread: Thread, job: Job): void {
    thread.job = job
    try {
      // The memory is transferred to the thread, so copy the bytes first.
      const task: Lz4Task = { plain: new Uint8Array(job.plain), mostBytes: job.mostBytes }
      thread.worker.postMessage(task, [task.plain.buffer as ArrayBuffer])
      thread.worker.ref()
    } catch {
      // There is no memory for a copy.
      thread.job = null
      job.resolve(undefined)
    }
  }

  #idle(): Thread | undefined {
    for (const thread of this.#threads) if (thread.job === null) return thread
    return undefined
  }

  /** Start a thread. Returns null if that is not possible; running threads continue. */
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
    // An 'exit' event follows and is handled below.
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
