/**
 * Runs the work on rows of lists (`ListWork`) during a build. It runs in several threads, so that the event loop of the
 * caller stays free, or in the calling thread. The resulting segment is the same.
 */
import { Worker } from 'node:worker_threads'
import { ErrorCode, SheafError } from '../../errors.js'
import {
  assigningHere,
  type Centroids,
  type OpenSample,
  type TrainEach,
  trainEachHere,
} from '../../kernels/clusters.js'
import { orAborted } from '../../primitives/abort.js'
import { threadFile } from '../../primitives/module-files.js'
import type { Pacer } from '../../primitives/pacer.js'
import { type CallArgs, type CallName, type CallResult, ListWork, oneByOne } from './list-work.js'

/** A message to a thread. The thread replies with `{ result }`. */
export interface ListCall {
  readonly name: CallName
  readonly args: readonly unknown[]
}

/** Workers that run calls of `ListWork`. */
export interface ListWorkers {
  /** Number of calls that run concurrently. */
  readonly count: number
  /**
   * Run a call in the first free worker. `moved`: buffers to transfer to the worker. Rejects with ServiceUnavailable if
   * a thread has died. Rejects with the reason of the build's signal as soon as the signal is aborted.
   */
  call<N extends CallName>(name: N, args: CallArgs<N>, moved?: readonly ArrayBuffer[]): Promise<CallResult<N>>
  /** Run a call in every worker. */
  callEach<N extends CallName>(name: N, args: CallArgs<N>): Promise<readonly CallResult<N>[]>
  /** Terminate the threads, even during a call. */
  close(): Promise<void>
}

/**
 * Start a thread. `file` is null if the file was not found, because a bundler packed Sheaf into a program. Bundlers
 * recognize `new Worker(new URL(...))` and include the file, so this expression must stay as it is.
 */
function startWorker(file: URL | string | null): Worker {
  return file === null
    ? new Worker(new URL('./list-worker.js', import.meta.url), { execArgv: [] })
    : new Worker(file, { execArgv: [] })
}

/**
 * Start `threads` worker threads, or fewer threads if some cannot be started. If `threads` is 1, or no thread can be
 * started, the calling thread does the work. `file`: the module that the threads run.
 */
export async function openListWorkers(
  threads: number,
  pacer: Pacer,
  file: URL | string | null = threadFile('list-worker.js', import.meta.url),
): Promise<ListWorkers> {
  if (threads > 1) {
    const started = await startThreads(threads, pacer, file)
    if (started !== null) return started
  }
  const call = oneByOne(new ListWork(pacer))
  return {
    count: 1,
    call,
    callEach: async (name, args) => [await call(name, args)],
    close: async () => {},
  }
}

interface Call extends ListCall {
  readonly moved: readonly ArrayBuffer[]
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

interface Thread {
  readonly worker: Worker
  /** Calls that were sent to the thread and have no result yet. */
  readonly sent: Call[]
}

async function startThreads(
  threads: number,
  pacer: Pacer,
  file: URL | string | null,
): Promise<Threads | null> {
  const started = new Threads(pacer)
  try {
    await orAborted(Promise.all(Array.from({ length: threads }, () => started.start(file))), pacer.signal)
  } catch (error) {
    await started.close()
    throw error
  }
  return started.count === 0 ? null : started
}

class Threads implements ListWorkers {
  readonly #pacer: Pacer
  readonly #threads: Thread[] = []
  readonly #workers = new Set<Worker>()
  readonly #waiting: Call[] = []
  /** The error with which all further calls are rejected after a thread has died. */
  #failure: SheafError | null = null
  #isClosed = false

  constructor(pacer: Pacer) {
    this.#pacer = pacer
  }

  get count(): number {
    return this.#threads.length
  }

  /** Start a thread. Resolves when the thread is ready or could not be started. */
  async start(file: URL | string | null): Promise<void> {
    let worker: Worker
    try {
      worker = startWorker(file)
    } catch {
      return
    }
    this.#workers.add(worker)
    const thread: Thread = { worker, sent: [] }
    await new Promise<void>(resolve => {
      let cause: unknown
      worker.on('message', (message: 'ready' | { readonly result: unknown }) => {
        if (message === 'ready') {
          this.#threads.push(thread)
          resolve()
          return
        }
        thread.sent.shift()!.resolve(message.result)
        this.#dispatch()
      })
      worker.on('error', error => {
        cause = error
      })
      worker.on('exit', code => {
        if (this.#threads.includes(thread) && !this.#isClosed) this.#fail(died(cause ?? `exit code ${code}`))
        resolve()
      })
    })
  }

  call<N extends CallName>(
    name: N,
    args: CallArgs<N>,
    moved: readonly ArrayBuffer[] = [],
  ): Promise<CallResult<N>> {
    const done = new Promise<unknown>((resolve, reject) => {
      this.#waiting.push({ name, args, moved, resolve, reject })
      this.#dispatch()
    })
    return orAborted(done as Promise<CallResult<N>>, this.#pacer.signal)
  }

  callEach<N extends CallName>(name: N, args: CallArgs<N>): Promise<readonly CallResult<N>[]> {
    const each = this.#threads.map(
      thread =>
        new Promise<unknown>((resolve, reject) => {
          this.#send(thread, { name, args, moved: [], resolve, reject })
        }),
    )
    return orAborted(Promise.all(each) as Promise<readonly CallResult<N>[]>, this.#pacer.signal)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#workers].map(worker => worker.terminate()))
  }

  #dispatch(): void {
    for (const thread of this.#threads) {
      if (thread.sent.length === 0 && this.#waiting.length > 0) this.#send(thread, this.#waiting.shift()!)
    }
  }

  #send(thread: Thread, call: Call): void {
    if (this.#failure !== null) {
      call.reject(this.#failure)
      return
    }
    thread.sent.push(call)
    thread.worker.postMessage({ name: call.name, args: call.args } satisfies ListCall, call.moved)
  }

  #fail(failure: SheafError): void {
    this.#failure = failure
    for (const { sent } of this.#threads) for (const call of sent.splice(0)) call.reject(failure)
    for (const call of this.#waiting.splice(0)) call.reject(failure)
  }
}

function died(cause: unknown): SheafError {
  const reason = cause instanceof Error ? cause.message : cause
  return new SheafError(ErrorCode.ServiceUnavailable, `a thread that builds a vector index died: ${reason}`, {
    cause,
    hint: 'build the index again, or use connect(path, { buildThreads: 1 }) to build without threads',
  })
}

/** Minimum number of multiplications of an assignment that is divided among workers. */
const sharedProducts = 2 ** 31
/** Number of elements of a sample that are copied between two checks of the clock. */
const copiedElements = 512 * 1024

/** Return a function that assigns vectors to centroids. It divides large samples among all workers. */
export function assigningBy(workers: ListWorkers): OpenSample {
  return (sample, rows, most) => {
    const { count, dim } = most
    if (workers.count < 2 || rows * count * dim < sharedProducts)
      return assigningHere(false)(sample, rows, most)
    let shared: SharedArrayBuffer | null = null
    return async (centroids, out, pacer) => {
      if (shared === null) {
        shared = new SharedArrayBuffer(rows * dim * 4)
        const target = new Float32Array(shared)
        for (let from = 0; from < target.length; from += copiedElements) {
          target.set(sample.subarray(from, Math.min(from + copiedElements, target.length)), from)
          await pacer.turn()
        }
      }
      const step = Math.ceil(rows / workers.count)
      const firsts = Array.from({ length: Math.ceil(rows / step) }, (_, i) => i * step)
      const all = firsts.map(async from => {
        const to = Math.min(from + step, rows)
        out.set(await workers.call('assign', [{ sample: shared!, from, to, centroids }]), from)
      })
      await Promise.all(all)
    }
  }
}

/** Return a function that trains centroids of several samples. Each worker trains one sample at a time. */
export function trainingBy(workers: ListWorkers): TrainEach {
  if (workers.count < 2) return trainEachHere
  return async (samples, count, maxIterations) => {
    const trained: Promise<Centroids>[] = []
    for await (const sample of samples) {
      // Wait, so that at most two samples per worker are in memory: one in training and one waiting.
      await trained.at(-2 * workers.count)
      const training = workers.call(
        'train',
        [sample, count, maxIterations],
        [sample.values.buffer as ArrayBuffer],
      )
      // `Promise.all` below reports a failure. This line only prevents an unhandled rejection.
      training.catch(() => {})
      trained.push(training)
    }
    return Promise.all(trained)
  }
}
