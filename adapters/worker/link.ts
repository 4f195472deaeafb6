/** Connects the program to one worker: sends calls to the worker, and rejects the calls if the worker dies. */
import { MessagePort, type Worker } from 'node:worker_threads'
import { concatBytes } from '../../src/arrow/concat-bytes.js'
import { ErrorCode, invalidInput, SheafError } from '../../src/errors.js'
import type { VerifyProgress } from '../../src/index.js'
import { whenAborted } from '../../src/primitives/abort.js'
import { deferred } from '../../src/primitives/deferred.js'
import { externalHint } from '../../src/primitives/module-files.js'
import type { ArrowBody, ArrowReply } from '../../src/protocol/calls.js'
import { operations } from '../../src/protocol/operations.js'
import { inPieces } from '../bytes.js'
import type { Call } from '../calls.js'
import { drawBody, offerBody } from './body.js'
import { replyOf } from './few-rows.js'
import {
  type CallMessage,
  type FromWorker,
  type Question,
  type Questions,
  type ToWorker,
  unpackError,
} from './messages.js'

/** Maximum time in milliseconds that a worker without further work may take to exit by itself. */
const exitMs = 2_000

/** Error codes that mean that the file of the worker does not exist. */
const missingFileCodes: ReadonlySet<unknown> = new Set(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'])

/**
 * The effect on a call if its worker dies. `nothing`: the call writes nothing, so its error needs no further
 * information. `unknown`: the call is a write whose outcome is unknown. `gone`: the snapshot or transaction of the call
 * is lost.
 */
type Fate = 'nothing' | 'unknown' | 'gone'

/** Options of a question: a request to the worker that is not an operation (messages.ts). */
export interface AskOptions {
  readonly signal?: AbortSignal | undefined
  /** Whether the question writes, so that its outcome is unknown if the worker dies. Default false. */
  readonly writes?: boolean
  /** Whether the question only waits for events, and therefore does not count as load. Default false. */
  readonly waits?: boolean
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
}

/** A call or question that has no answer yet. */
interface Pending {
  readonly signal: AbortSignal | undefined
  readonly fate: Fate
  readonly load: 0 | 1
  readonly onProgress?: AskOptions['onProgress']
  /**
   * The error that the code of the caller threw, if it did. It has more detail than the error that the worker sends
   * back.
   */
  callersError: { readonly cause: unknown } | undefined
  abort(): void
  /** Removes the abort listener of `signal`. */
  readonly forget: (() => void) | undefined
  resolve(reply: unknown): void
  reject(cause: unknown): void
}

/** A worker thread that runs the engine (host.ts). It keeps the process alive only while a call or question is pending. */
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
  /** One controller for each reply that is still streamed. Aborting the controller ends the stream. */
  readonly #streams = new Set<AbortController>()

  private constructor(worker: Worker, place: string) {
    this.#worker = worker
    this.#place = place
    worker.on('message', (message: FromWorker) => this.#receive(message))
    worker.once('error', cause => this.#die(String(cause), cause))
    worker.once('exit', code => {
      this.#exit.resolve()
      this.#die(`it exited with code ${code}`)
    })
  }

  /**
   * Wait until the engine in the worker is open. If the engine cannot be opened, terminates the worker and throws the
   * error, or `signal.reason`. `place`: the name of the engine in messages.
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
   * Wait until a worker without further work has exited, at most `exitMs`. Node 22 and later abort the process if
   * `terminate` is called while a worker exits.
   */
  async #exited(): Promise<void> {
    const timer = setTimeout(this.#exit.resolve, exitMs)
    await this.#exit.promise
    clearTimeout(timer)
  }

  get isAlive(): boolean {
    return this.#death === undefined
  }

  /** Number of calls in progress. */
  get load(): number {
    return this.#load
  }

  /** Close the engine, and end the worker. Pending calls reject with ServiceUnavailable, as if the worker had died. */
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
   * Send a call. Rejects if the worker has died or dies before it answers; the outcome of a write that was sent is then
   * unknown. `held`: number of the snapshot or transaction attempt to which the call belongs. Default: none.
   */
  send(call: Call, held?: number): Promise<unknown> {
    const { options } = call
    const isWrite = operations[call.name].access === 'write'
    const fate = held !== undefined ? 'gone' : isWrite ? 'unknown' : 'nothing'
    return this.#await({ signal: options.signal, fate, load: 1 }, (id, pending) => {
      this.#postCall(id, pending, call, held)
    })
  }

  /** Send a question, which is not an operation. Rejects in the same cases as `send`. */
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
        this.#takePending(id)
        const options = 'the options of a call to a worker must be plain data'
        reject(invalidInput(`${options}: ${cause instanceof Error ? cause.message : cause}`, { cause }))
      }
    })
  }

  /** Send the message of a call. Throws a DataCloneError if the options of the call cannot be cloned. */
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

  #receive(message: FromWorker): void {
    if (message.kind === 'open') this.#opening.resolve()
    else if (message.kind === 'refused') this.#opening.reject(unpackError(message.error))
    else if (message.kind === 'closed') this.#closing.resolve()
    else if (message.kind === 'progress') this.#progress(message.id, message.progress)
    else {
      const pending = this.#takePending(message.id)
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

  /**
   * Return the rest of a reply, which is read from `port`. It counts as load of this worker from the first read on.
   * When the signal of the call aborts, the rest ends in both threads.
   */
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
    async function* readPieces() {
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
    const pieces = readPieces()
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => pieces.next(),
        // Without this, closing a stream that was never read would do nothing: a generator that has not begun does not
        // run its `finally`.
        return() {
          leave()
          return pieces.return(undefined)
        },
      }),
    }
  }

  /**
   * Pass progress to the callback of the caller. If the callback throws, the call is aborted and rejects with that
   * error.
   */
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

  /** Remove a call from the pending calls, and return it. Returns undefined if the call is not pending. */
  #takePending(id: number): Pending | undefined {
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

  /** Mark the worker as dead. Rejects all pending calls, and all later ones. */
  #end(message: string, cause?: unknown): void {
    if (this.#death !== undefined) return
    const hint = missingFileCodes.has((cause as NodeJS.ErrnoException | undefined)?.code)
      ? externalHint
      : undefined
    this.#death = new SheafError(ErrorCode.ServiceUnavailable, message, { hint, cause })
    for (const [id, { fate, reject }] of this.#pending) {
      this.#takePending(id)
      reject(this.#lost(fate, this.#death, true))
    }
    for (const stream of this.#streams) stream.abort(this.#death)
  }

  /** Return the error for a call whose worker has died. `wasSent`: whether the call was sent to the worker. */
  #lost(fate: Fate, death: SheafError, wasSent: boolean): SheafError {
    const { message, cause } = death
    if (fate === 'gone') return goneWith(message, cause)
    return fate === 'unknown' && wasSent ? outcomeUnknown(message, cause) : death
  }
}

/**
 * Return the body of a call in a form that can be transferred. The memory of the caller is copied, because a transfer
 * would remove it from the caller.
 */
function movable(
  body: ArrowBody | undefined,
  onError: (cause: unknown) => void,
): { readonly body: CallMessage['body']; readonly transfer: readonly (ArrayBuffer | MessagePort)[] } {
  if (body === undefined) return { body, transfer: [] }
  if (body instanceof Uint8Array) {
    const copy = concatBytes([body])
    return { body: copy, transfer: [copy.buffer] }
  }
  const port = offerBody(inPieces(body), { onError })
  return { body: port, transfer: [port] }
}

function outcomeUnknown(message: string, cause: unknown): SheafError {
  return new SheafError(ErrorCode.ServiceUnavailable, `${message}; the outcome of the write is unknown`, {
    kind: 'commit-state-unknown',
    hint: 'check whether the write took effect before calling again',
    cause,
  })
}

function goneWith(message: string, cause: unknown): SheafError {
  const gone = `${message}; its snapshots and transactions are lost`
  return new SheafError(ErrorCode.ServiceUnavailable, gone, {
    hint: 'take another snapshot, or begin the transaction again',
    cause,
  })
}
