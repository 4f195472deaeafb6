/** The program's side: calls that go to one worker, and what becomes of them when it dies. */
import { MessagePort, type Worker } from 'node:worker_threads'
import { ErrorCode, invalidInput, SheafError } from '../../src/errors.js'
import type { VerifyProgress } from '../../src/index.js'
import { whenAborted } from '../../src/primitives/abort.js'
import type { ArrowBody, ArrowReply } from '../../src/protocol/calls.js'
import { operations } from '../../src/protocol/operations.js'
import { inPieces, joined } from '../bytes.js'
import type { Call } from '../calls.js'
import { drawBody, offerBody } from './body.js'
import { deferred } from './deferred.js'
import { replyOf } from './few-rows.js'
import {
  type CallMessage,
  type FromWorker,
  type Question,
  type Questions,
  type ToWorker,
  unpackError,
} from './messages.js'

/** Milliseconds that a worker with nothing left to do has to exit by itself. */
const exitMs = 2_000

/** What becomes of a call whose worker dies: nothing, a write nobody knows of, or nothing ever as what it was for is gone. */
type Fate = 'nothing' | 'unknown' | 'gone'

export interface AskOptions {
  readonly signal?: AbortSignal | undefined
  /** Whether a death in the middle leaves a write whose outcome is unknown. Default false. */
  readonly writes?: boolean
  /** Whether it waits for others, and is no load meanwhile. Default false. */
  readonly waits?: boolean
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
}

/** A call or question whose answer is still to come. */
interface Pending {
  readonly signal: AbortSignal | undefined
  readonly fate: Fate
  readonly load: 0 | 1
  readonly onProgress?: AskOptions['onProgress']
  /** What the caller's own code threw, if it did: more exact than what comes back of it. */
  callersError: { readonly cause: unknown } | undefined
  abort(): void
  /** Listens to the signal no longer. */
  readonly forget: (() => void) | undefined
  resolve(reply: unknown): void
  reject(cause: unknown): void
}

/** A worker that runs `host`. It keeps the process alive while something is asked of it, and no longer. */
export class WorkerLink {
  readonly #worker: Worker
  readonly #place: string
  readonly #pending = new Map<number, Pending>()
  readonly #opening = deferred<void>()
  readonly #closing = deferred<void>()
  readonly #exit = deferred<void>()
  #lastId = 0
  #load = 0
  #death: SheafError | undefined
  /** One controller for each reply that still streams: aborting it ends the stream. */
  readonly #streams = new Set<AbortController>()

  private constructor(worker: Worker, place: string) {
    this.#worker = worker
    this.#place = place
    worker.on('message', (message: FromWorker) => this.#hear(message))
    worker.once('error', cause => this.#die(String(cause), cause))
    worker.once('exit', code => {
      this.#exit.resolve()
      this.#die(`it exited with code ${code}`)
    })
  }

  /**
   * Resolves when the engine in the worker is open. Rejects with the reason why it cannot be opened, or with
   * `signal.reason`; then the worker is ended. `place` names the engine in messages.
   */
  static async open(worker: Worker, place: string, signal?: AbortSignal): Promise<WorkerLink> {
    const link = new WorkerLink(worker, place)
    const abort = () => link.#opening.reject(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      signal?.throwIfAborted()
      await link.#opening.promise
    } catch (cause) {
      if (signal?.aborted !== true) await link.#exited()
      await worker.terminate()
      throw cause
    } finally {
      signal?.removeEventListener('abort', abort)
    }
    worker.unref()
    return link
  }

  /**
   * Waits until a worker that has nothing left to do has exited, at most `exitMs`. Node 22 and later abort the process when
   * `terminate` meets a worker that is about to exit.
   */
  async #exited(): Promise<void> {
    const timer = setTimeout(this.#exit.resolve, exitMs)
    await this.#exit.promise
    clearTimeout(timer)
  }

  get isAlive(): boolean {
    return this.#death === undefined
  }

  /** Calls under way. */
  get load(): number {
    return this.#load
  }

  /** Closes the engine, and ends the worker. What is still under way rejects with code 17, a write as if the worker had died. */
  async close(): Promise<void> {
    if (this.#death === undefined) {
      this.#post({ kind: 'close' })
      this.#end(`the connection to ${this.#place} is closed`)
    }
    this.#worker.ref()
    await this.#closing.promise
    await this.#exited()
    await this.#worker.terminate()
  }

  /**
   * Rejects with the reason where the worker has died, or dies; a write it was told of then has an unknown outcome. `held`: the
   * snapshot or attempt of this worker that it is for.
   */
  send(call: Call, held?: number): Promise<unknown> {
    const { options } = call
    const isWrite = operations[call.name].access === 'write'
    const fate = held !== undefined ? 'gone' : isWrite ? 'unknown' : 'nothing'
    return this.#await({ signal: options.signal, fate, load: 1 }, (id, pending) => {
      this.#postCall(id, pending, call, held)
    })
  }

  /** Asks what is no operation. Rejects like a call. */
  ask<Q extends Question>(
    question: Q,
    ask: Questions[Q]['ask'],
    { signal, writes = false, waits = false, onProgress }: AskOptions = {},
  ): Promise<Questions[Q]['answer']> {
    const about = { signal, fate: writes ? 'unknown' : 'nothing', load: waits ? 0 : 1, onProgress } as const
    const answer = this.#await(about, id => this.#post({ kind: 'ask', id, question, ask }))
    return answer as Promise<Questions[Q]['answer']>
  }

  #await(
    { signal, fate, load, onProgress }: Pick<Pending, 'signal' | 'fate' | 'load' | 'onProgress'>,
    post: (id: number, pending: Pending) => void,
  ): Promise<unknown> {
    if (this.#death !== undefined) return Promise.reject(this.#lost(fate, this.#death, false))
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const abort = () => this.#post({ kind: 'abort', id })
      const callersError = undefined
      const forget = signal && whenAborted(signal, abort)
      const pending: Pending = {
        signal,
        fate,
        load,
        onProgress,
        callersError,
        abort,
        forget,
        resolve,
        reject,
      }
      this.#pending.set(id, pending)
      this.#load += load
      this.#worker.ref()
      try {
        post(id, pending)
      } catch (cause) {
        this.#settled(id)
        const options = 'the options of a call to a worker must be plain data'
        reject(invalidInput(`${options}: ${cause instanceof Error ? cause.message : cause}`, { cause }))
      }
    })
  }

  /** Throws a DataCloneError where the caller's options cannot cross. */
  #postCall(id: number, pending: Pending, call: Call, held: number | undefined): void {
    const { name, request, options } = call
    const { signal, ...plainOptions } = options
    const { body, transfer } = movable(call.body, cause => {
      pending.callersError = { cause }
    })
    const abortable = signal !== undefined
    const message = { kind: 'call', id, name, request, body, options: plainOptions, abortable } as const
    try {
      this.#post(held === undefined ? message : { ...message, held }, transfer)
    } catch (cause) {
      if (body instanceof MessagePort) body.close()
      throw cause
    }
  }

  #post(message: ToWorker, transfer: readonly (ArrayBuffer | MessagePort)[] = []): void {
    this.#worker.postMessage(message, transfer)
  }

  #hear(message: FromWorker): void {
    if (message.kind === 'open') this.#opening.resolve()
    else if (message.kind === 'refused') this.#opening.reject(unpackError(message.error))
    else if (message.kind === 'closed') this.#closing.resolve()
    else if (message.kind === 'progress') this.#progress(message.id, message.progress)
    else {
      const pending = this.#settled(message.id)
      if (pending === undefined) {
        if (message.kind === 'begun') message.rest.close()
        return
      }
      const { callersError } = pending
      if (callersError !== undefined && (message.kind !== 'reply' || pending.onProgress !== undefined)) {
        pending.reject(callersError.cause)
      } else if (message.kind === 'reply') pending.resolve(message.reply)
      else if (message.kind === 'rows') pending.resolve(replyOf(message.rows))
      else if (message.kind === 'begun')
        pending.resolve({
          ...message.reply,
          rest: this.#rest(message.rest, pending.signal),
        } satisfies ArrowReply)
      else if (message.kind === 'aborted') pending.reject(pending.signal?.reason)
      else pending.reject(unpackError(message.error))
    }
  }

  /** The rest of a reply, read from `port`. Counts as load of this worker from the first read on. The signal ends it here and in the worker. */
  #rest(port: MessagePort, asked: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    const end = new AbortController()
    let load = 0
    const leave = () => {
      forget?.()
      this.#streams.delete(end)
      this.#load -= load
      load = 0
      port.close()
    }
    const start = () => {
      load = 1
      this.#load++
    }
    async function* drawn() {
      start()
      try {
        yield* drawBody(port, end.signal)
      } finally {
        leave()
      }
    }
    this.#streams.add(end)
    end.signal.addEventListener('abort', leave, { once: true })
    const forget = asked && whenAborted(asked, () => end.abort(asked.reason))
    if (asked?.aborted) end.abort(asked.reason)
    const pieces = drawn()
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => pieces.next(),
        // Also where nothing was drawn yet: a generator that has not begun has no end either.
        return() {
          leave()
          return pieces.return(undefined)
        },
      }),
    }
  }

  /** One who throws at what he is told ends the call with that. */
  #progress(id: number, progress: VerifyProgress): void {
    const pending = this.#pending.get(id)
    if (pending === undefined || pending.callersError !== undefined) return
    try {
      pending.onProgress?.(progress)
    } catch (cause) {
      pending.callersError = { cause }
      pending.abort()
    }
  }

  /** Takes a call from those pending. */
  #settled(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    if (pending === undefined) return undefined
    pending.forget?.()
    this.#pending.delete(id)
    this.#load -= pending.load
    if (this.#pending.size === 0) this.#worker.unref()
    return pending
  }

  #die(reason: string, cause?: unknown): void {
    this.#end(`the worker of ${this.#place} stopped: ${reason}`, cause)
    this.#opening.reject(this.#death)
    this.#closing.resolve()
  }

  /** Nothing is answered from now on. */
  #end(message: string, cause?: unknown): void {
    if (this.#death !== undefined) return
    this.#death = new SheafError(ErrorCode.ServiceUnavailable, message, { cause })
    for (const [id, { fate, reject }] of this.#pending) {
      this.#settled(id)
      reject(this.#lost(fate, this.#death, true))
    }
    for (const stream of this.#streams) stream.abort(this.#death)
  }

  /** What a call rejects with that a worker takes with it. */
  #lost(fate: Fate, death: SheafError, wasSent: boolean): SheafError {
    const { message, cause } = death
    if (fate === 'gone') return goneWith(message, cause)
    return fate === 'unknown' && wasSent ? outcomeUnknown(message, cause) : death
  }
}

/** The body as something that can be given away; the caller keeps what is the caller's. */
function movable(
  body: ArrowBody | undefined,
  onError: (cause: unknown) => void,
): { readonly body: CallMessage['body']; readonly transfer: readonly (ArrayBuffer | MessagePort)[] } {
  if (body === undefined) return { body, transfer: [] }
  if (body instanceof Uint8Array) {
    const copy = joined([body])
    return { body: copy, transfer: [copy.buffer] }
  }
  const port = offerBody(inPieces(body), { onError })
  return { body: port, transfer: [port] }
}

function outcomeUnknown(message: string, cause: unknown): SheafError {
  return new SheafError(ErrorCode.ServiceUnavailable, `${message}; the outcome of the write is unknown`, {
    kind: 'commit-state-unknown',
    hint: 'look whether it took effect before calling again',
    cause,
  })
}

function goneWith(message: string, cause: unknown): SheafError {
  const gone = `${message}; the snapshots and transactions it held are gone with it`
  return new SheafError(ErrorCode.ServiceUnavailable, gone, {
    hint: 'take another snapshot, or begin the transaction again',
    cause,
  })
}
