/** The program's side: calls that go to one worker, and what becomes of them when it dies. */
import { MessagePort, type Worker } from 'node:worker_threads'
import { ErrorCode, invalidInput, SheafError } from '../../src/errors.js'
import type { ArrowBody } from '../../src/protocol/calls.js'
import { operations } from '../../src/protocol/operations.js'
import { joined } from '../bytes.js'
import type { Call } from '../calls.js'
import { offerBody } from './body.js'
import { type CallMessage, type FromWorker, type ToWorker, unpackError } from './messages.js'

/** A call whose answer is still to come. */
interface Pending {
  readonly call: Call
  /** What the caller's own body threw, if it did: more exact than what comes back of it. */
  bodyError: unknown
  abort(): void
  resolve(reply: unknown): void
  reject(cause: unknown): void
}

/** A worker that runs `host`. It keeps the process alive while something is asked of it, and no longer. */
export class WorkerLink {
  readonly #worker: Worker
  readonly #place: string
  readonly #pending = new Map<number, Pending>()
  readonly #opening = deferred()
  readonly #closing = deferred()
  #lastId = 0
  #death: SheafError | undefined

  private constructor(worker: Worker, place: string) {
    this.#worker = worker
    this.#place = place
    worker.on('message', (message: FromWorker) => this.#hear(message))
    worker.once('error', cause => this.#die(String(cause), cause))
    worker.once('exit', code => this.#die(`it exited with code ${code}`))
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
      await worker.terminate()
      throw cause
    } finally {
      signal?.removeEventListener('abort', abort)
    }
    worker.unref()
    return link
  }

  get isAlive(): boolean {
    return this.#death === undefined
  }

  /** Calls under way. */
  get load(): number {
    return this.#pending.size
  }

  /** Closes the engine, and ends the worker. No call may be under way. */
  async close(): Promise<void> {
    this.#worker.ref()
    this.#post({ kind: 'close' })
    if (this.#death === undefined) await this.#closing.promise
    await this.#worker.terminate()
  }

  /** Rejects with the reason where the worker has died, or dies; a write it was told of then has an unknown outcome. */
  send(call: Call): Promise<unknown> {
    if (this.#death !== undefined) return Promise.reject(this.#death)
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const abort = () => this.#post({ kind: 'abort', id })
      const pending: Pending = { call, bodyError: undefined, abort, resolve, reject }
      this.#pending.set(id, pending)
      this.#worker.ref()
      call.options.signal?.addEventListener('abort', abort, { once: true })
      try {
        this.#postCall(id, pending)
      } catch (cause) {
        this.#settled(id)
        const options = 'the options of a call to a worker must be plain data'
        reject(invalidInput(`${options}: ${cause instanceof Error ? cause.message : cause}`, { cause }))
      }
    })
  }

  /** Throws a DataCloneError where the caller's options cannot cross. */
  #postCall(id: number, pending: Pending): void {
    const { name, request, options } = pending.call
    const { signal, ...plainOptions } = options
    const { body, transfer } = movable(pending.call.body, cause => {
      pending.bodyError = cause
    })
    try {
      const abortable = signal !== undefined
      this.#post({ kind: 'call', id, name, request, body, options: plainOptions, abortable }, transfer)
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
    else {
      const pending = this.#settled(message.id)
      if (message.kind === 'reply') pending?.resolve(message.reply)
      else if (message.kind === 'aborted') pending?.reject(pending.call.options.signal?.reason)
      else pending?.reject(pending.bodyError ?? unpackError(message.error))
    }
  }

  /** Takes a call from those pending. */
  #settled(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    pending?.call.options.signal?.removeEventListener('abort', pending.abort)
    this.#pending.delete(id)
    if (this.#pending.size === 0) this.#worker.unref()
    return pending
  }

  #die(reason: string, cause?: unknown): void {
    if (this.#death !== undefined) return
    const message = `the worker of ${this.#place} stopped: ${reason}`
    this.#death = new SheafError(ErrorCode.ServiceUnavailable, message, { cause })
    for (const [id, { call, reject }] of this.#pending) {
      this.#settled(id)
      reject(operations[call.name].access === 'read' ? this.#death : outcomeUnknown(message, cause))
    }
    this.#opening.reject(this.#death)
    this.#closing.resolve()
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
  const port = offerBody(body, onError)
  return { body: port, transfer: [port] }
}

function outcomeUnknown(message: string, cause: unknown): SheafError {
  return new SheafError(ErrorCode.ServiceUnavailable, `${message}; the outcome of the write is unknown`, {
    kind: 'commit-state-unknown',
    hint: 'look whether it took effect before calling again',
    cause,
  })
}

interface Deferred {
  readonly promise: Promise<void>
  resolve(): void
  reject(cause: unknown): void
}

function deferred(): Deferred {
  let resolve!: () => void
  let reject!: (cause: unknown) => void
  const promise = new Promise<void>((yes, no) => {
    resolve = yes
    reject = no
  })
  promise.catch(() => {})
  return { promise, resolve, reject }
}
