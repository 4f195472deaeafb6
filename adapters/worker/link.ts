/** The program's side of one worker: sends calls to it, and rejects them when it dies. */
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

/** How long a worker with nothing left to do may take to exit by itself, milliseconds. */
const exitMs = 2_000

/** Codes of the error of a worker whose file does not exist. */
const missingFileCodes: ReadonlySet<unknown> = new Set(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'])

/**
 * How a call fails if its worker dies. `nothing`: the plain error. `unknown`: a write whose outcome is unknown. `gone`: the snapshot or
 * transaction of the call is lost.
 */
type Fate = 'nothing' | 'unknown' | 'gone'

export interface AskOptions {
  readonly signal?: AbortSignal | undefined
  /** Whether the outcome is unknown if the worker dies meanwhile. Default false. */
  readonly writes?: boolean
  /** Whether the question waits for events, and so does not count as load. Default false. */
  readonly waits?: boolean
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
}

/** A call or question without an answer yet. */
interface Pending {
  readonly signal: AbortSignal | undefined
  readonly fate: Fate
  readonly load: 0 | 1
  readonly onProgress?: AskOptions['onProgress']
  /** What the caller's own code threw, if it did. It is more exact than the error that the worker sends back. */
  callersError: { readonly cause: unknown } | undefined
  abort(): void
  /** Removes the listener of the signal. */
  readonly forget: (() => void) | undefined
  resolve(reply: unknown): void
  reject(cause: unknown): void
}

/** A worker that runs `host`. It keeps the process alive only while a call or question is pending. */
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
  /** One controller for each reply that still streams; aborting it ends the stream. */
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
   * Resolves when the engine in the worker is open. If it cannot be opened, terminates the worker and rejects with the reason, or with
   * `signal.reason`. `place` names the engine in messages.
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
   * Wait until a worker with nothing left to do has exited, at most `exitMs`. Node 22 and later abort the process when `terminate` meets a
   * worker that is about to exit.
   */
  async #exited(): Promise<void> {
    const timer = setTimeout(this.#exit.resolve, exitMs)
    await this.#exit.promise
    clearTimeout(timer)
  }

  get isAlive(): boolean {
    return this.#death === undefined
  }

  /** Calls in progress. */
  get load(): number {
    return this.#load
  }

  /** Close the engine, and end the worker. Pending calls reject as if the worker had died, with ServiceUnavailable. */
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
   * Send a call. Rejects with the reason if the worker has died or dies; the outcome of a write that was sent is then unknown. `held`: id
   * of the snapshot or transaction attempt to which the call belongs.
   */
  send(call: Call, held?: number): Promise<unknown> {
    const { options } = call
    const isWrite = operations[call.name].access === 'write'
    const fate = held !== undefined ? 'gone' : isWrite ? 'unknown' : 'nothing'
    return this.#await({ signal: options.signal, fate, load: 1 }, (id, pending) => {
      this.#postCall(id, pending, call, held)
    })
  }

  /** Send a question, which is not an operation. Rejects like a call. */
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

  /** Throws a DataCloneError if the options of the call cannot be cloned. */
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

  /** Read the rest of a reply from `port`. It counts as load of this worker from the first read on. The signal ends it here and there. */
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
        // Needed for a stream that was never read: a generator that has not begun does not run its `finally`.
        return() {
          leave()
          return pieces.return(undefined)
        },
      }),
    }
  }

  /** Report progress. If the caller's callback throws, the call ends with that error. */
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

  /** Remove a call from those pending. */
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

  /** Reject all pending calls, and every later one. */
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

  /** Make the error of a call whose worker has died. */
  #lost(fate: Fate, death: SheafError, wasSent: boolean): SheafError {
    const { message, cause } = death
    if (fate === 'gone') return goneWith(message, cause)
    return fate === 'unknown' && wasSent ? outcomeUnknown(message, cause) : death
  }
}

/** Return the body in a form that can be transferred. The caller's memory is copied, not transferred. */
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
