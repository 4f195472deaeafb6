/**
 * Implements the features of a namespace that are not operations, in the thread of the program. The worker that writes
 * runs all of them.
 */

import { runningCall } from '../../src/client/transaction-scope.js'
import { ErrorCode, invalidInput, SheafError, unsupported } from '../../src/errors.js'
import { type LocalFeatures, Namespace } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { operations } from '../../src/protocol/operations.js'
import { type Call, type Remote, remoteOperations } from '../calls.js'
import type { AskOptions, WorkerLink } from './link.js'
import type { Question, Questions, TransactionStep } from './messages.js'

/**
 * Return the features of a namespace that are not operations. `place`: the name of the namespace in messages. `first`:
 * returns the worker that writes, after it has started a new one if that worker has died; rejects with `signal.reason`
 * if the signal aborts.
 */
export function featuresOver(place: string, root: Remote, first: FirstWorker): LocalFeatures {
  const writer = new Writer(place, root, first)
  return {
    snapshot: ({ signal } = {}) => root.run(() => openSnapshot(writer, signal)),
    transaction: (work, { signal } = {}) => runTransaction(writer, work, signal),
    watch: ({ signal } = {}) => watchCommits(writer, signal),
    optimize: ({ signal } = {}) => root.run(() => writer.ask('optimize', {}, { signal })),
    tableAt: (location, { signal } = {}) => root.run(() => writer.ask('tableAt', { location }, { signal })),
    stats() {
      throw unsupported(
        'stats() is not available here: it returns without waiting, but its data is in another thread',
        {
          hint: 'use a namespace opened by connect()',
        },
      )
    },
    verify({ repair = false, onProgress, signal } = {}) {
      const asked = { repair, tellsProgress: onProgress !== undefined }
      return root.run(() => writer.ask('verify', asked, { signal, onProgress }))
    },
  }
}

type FirstWorker = (signal: AbortSignal | undefined) => Promise<WorkerLink>

/** The worker that writes. Each call uses the worker that has this role at the time of the call. */
class Writer {
  readonly place: string
  readonly root: Remote
  readonly #first: FirstWorker

  constructor(place: string, root: Remote, first: FirstWorker) {
    this.place = place
    this.root = root
    this.#first = first
  }

  /** Return the worker that writes. Throws ServiceUnavailable after the namespace was closed. */
  async link(signal: AbortSignal | undefined): Promise<WorkerLink> {
    this.root.checkOpen()
    signal?.throwIfAborted()
    return this.#first(signal)
  }

  async ask<Q extends Question>(
    question: Q,
    asked: Questions[Q]['ask'],
    options: AskOptions,
  ): Promise<Questions[Q]['answer']> {
    return (await this.link(options.signal)).ask(question, asked, options)
  }
}

async function openSnapshot(writer: Writer, signal: AbortSignal | undefined): Promise<Namespace> {
  const worker = await writer.link(signal)
  const handle = new RemoteHandle(worker, await worker.ask('snapshot', {}, { signal }))
  let released: Promise<void> | undefined
  return handle.namespace(writer.place, () => {
    handle.end(new SheafError(ErrorCode.ServiceUnavailable, 'this snapshot is closed'))
    released ??= release(handle)
    return released
  })
}

async function runTransaction<T>(
  writer: Writer,
  work: (tx: Namespace) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { place, root } = writer
  const begun = await root.run(async () => {
    const worker = await writer.link(signal)
    return { worker, step: await worker.ask('begin', {}, { signal }) }
  })
  const { worker } = begun
  for (let step: TransactionStep = begun.step; typeof step === 'object'; ) {
    const handle = new RemoteHandle(worker, step.held)
    const done = await outcomeOf(work, handle, place)
    const threw = 'error' in done ? codeOf(done.error) : undefined
    const end = { held: handle.number, threw, aborted: signal?.aborted === true }
    const writes = threw === undefined && handle.hasWritten
    const tell = () => worker.ask('end', end, { signal, writes })
    try {
      step = await ('error' in done ? tell() : root.run(tell))
    } catch (cause) {
      // The attempt is lost together with its worker. Throw the error of the work, which the caller knows.
      if ('error' in done && !worker.isAlive) throw done.error
      throw cause
    }
    if (step === 'committed' && 'result' in done) return done.result
    if (step === 'thrown' && 'error' in done) throw done.error
  }
  throw new SheafError(ErrorCode.Internal, 'the end of a transaction does not match the end of its function')
}

/**
 * Yield the number of the newest slot whenever it changes. Each step is a separate question, so watching continues when
 * a worker is replaced, and nothing remains to clean up.
 */
async function* watchCommits(writer: Writer, signal: AbortSignal | undefined): AsyncGenerator<number> {
  for (let than = -1; ; ) {
    than = await writer.ask('watch', { than }, { signal, waits: true })
    yield than
  }
}

/** A snapshot or transaction attempt that a worker keeps open, identified by a number. */
class RemoteHandle {
  readonly worker: WorkerLink
  readonly number: number
  /** Whether a write was sent to the worker. */
  hasWritten = false
  /** The number of calls that have no reply yet. */
  running = 0
  #end: SheafError | undefined

  constructor(worker: WorkerLink, number: number) {
    this.worker = worker
    this.number = number
  }

  namespace(place: string, close: () => Promise<void>): Namespace {
    return new Namespace(remoteOperations(place, call => this.#send(call)).operations, close)
  }

  /** Reject all later calls with `reason`. */
  end(reason: SheafError): void {
    this.#end ??= reason
  }

  #send(call: Call): Promise<unknown> {
    if (this.#end !== undefined) return Promise.reject(this.#end)
    if (operations[call.name].access === 'write') this.hasWritten = true
    this.running++
    const ended = () => {
      this.running--
    }
    const reply = this.worker.send(call, this.number)
    reply.then(ended, ended)
    return reply
  }
}

async function release({ worker, number }: RemoteHandle): Promise<void> {
  try {
    await worker.ask('release', { held: number })
  } catch (cause) {
    if (worker.isAlive) throw cause
  }
}

async function outcomeOf<T>(
  work: (tx: Namespace) => Promise<T>,
  handle: RemoteHandle,
  place: string,
): Promise<{ readonly result: T } | { readonly error: unknown }> {
  const end = () =>
    handle.end(
      invalidInput('this transaction is over', {
        hint: 'await all calls of a transaction inside its function',
      }),
    )
  try {
    const result = await work(handle.namespace(place, async () => end()))
    // A call that `work` did not await is sent in the same turn of the event loop.
    await systemClock.yield()
    return handle.running > 0 ? { error: runningCall() } : { result }
  } catch (error) {
    return { error }
  } finally {
    end()
  }
}

function codeOf(error: unknown): ErrorCode {
  return error instanceof SheafError ? error.code : ErrorCode.Internal
}
