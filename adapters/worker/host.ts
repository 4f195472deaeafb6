/** Runs the calls that the program sends to a worker over a port. */
import { MessagePort } from 'node:worker_threads'
import { concatBytes } from '../../src/arrow/concat-bytes.js'
import type { Namespace, VerifyProgress } from '../../src/index.js'
import type { ArrowReply } from '../../src/protocol/calls.js'
import { operations } from '../../src/protocol/operations.js'
import { cutFile } from '../bytes.js'
import { carryOut } from '../calls.js'
import { UploadMemory } from '../upload-memory.js'
import { drawBody, offerBody } from './body.js'
import { fewRows } from './few-rows.js'
import { Holdings } from './handles.js'
import {
  type AskMessage,
  type CallMessage,
  type FromWorker,
  packError,
  type Question,
  type Questions,
  type ToWorker,
} from './messages.js'

type Hosted = Pick<
  Namespace,
  'operations' | 'snapshot' | 'transaction' | 'watch' | 'optimize' | 'tableAt' | 'verify' | 'close'
>

/** The function that answers each kind of question. `id`: the id of the message with the question. */
type Answers = {
  readonly [Q in Question]: (
    ask: Questions[Q]['ask'],
    signal: AbortSignal,
    id: number,
  ) => Promise<Questions[Q]['answer']>
}

/**
 * The reason with which calls are aborted at the request of the program. The program reports the reason of its own
 * signal instead.
 */
const abortedOnRequest = new DOMException('the caller gave up', 'AbortError')

/**
 * Answer the calls that arrive on `port`, until a message closes `namespace`. `uploadBytes`: memory limit for decoding
 * all uploads together, bytes.
 */
export function host(port: MessagePort, namespace: Hosted, uploadBytes: number): void {
  const hosting = new Hosting(port, namespace, uploadBytes)
  port.on('message', (message: ToWorker) => hosting.receive(message))
  hosting.post({ kind: 'open' })
}

/** A namespace, and the running calls on it. */
class Hosting {
  readonly #port: MessagePort
  readonly #namespace: Hosted
  readonly #holdings: Holdings
  readonly #uploads: UploadMemory
  /** The controllers of running calls that can be aborted, by id of the call. */
  readonly #running = new Map<number, AbortController>()

  constructor(port: MessagePort, namespace: Hosted, uploadBytes: number) {
    this.#port = port
    this.#namespace = namespace
    this.#holdings = new Holdings(namespace)
    this.#uploads = new UploadMemory(uploadBytes)
  }

  post(message: FromWorker, transfer: readonly (ArrayBuffer | MessagePort)[] = []): void {
    this.#port.postMessage(message, transfer)
  }

  receive(message: ToWorker): void {
    if (message.kind === 'call') void this.#perform(message)
    else if (message.kind === 'ask') void this.#answer(message)
    else if (message.kind === 'abort') this.#abort(message.id)
    else void this.#close()
  }

  // ---- calls

  async #perform(message: CallMessage): Promise<void> {
    const { id, name, request, body, options, held } = message
    const mayStream = options.streamAfter !== undefined
    const signal = message.abortable || mayStream ? this.#abortable(id) : undefined
    let isBegun = false
    const memory = body instanceof MessagePort ? this.#uploads.account() : undefined
    try {
      const data = body instanceof MessagePort ? drawBody(body) : body
      const told = memory === undefined ? options : { ...options, memory }
      const call = { name, request, body: data, options: signal ? { ...told, signal } : told }
      const result = await carryOut(this.#holdings.operationsOf(held), call)
      if (operations[name].reply !== 'arrow') this.post({ kind: 'reply', id, reply: result })
      else isBegun = this.#postRows(id, result as ArrowReply)
    } catch (cause) {
      this.#fail(id, cause)
    } finally {
      // If the reply has a rest that is still streamed, its call must stay abortable.
      if (signal !== undefined && !isBegun) this.#running.delete(id)
      memory?.close()
      if (body instanceof MessagePort) body.close()
    }
  }

  /** Send the rows of a reply. Returns whether the rest of the reply follows on another port. */
  #postRows(id: number, reply: ArrowReply): boolean {
    const rows = fewRows(reply)
    const { version, chunks, rest } = reply
    // The chunks are views of columns in the cache of the engine. Copy them, because a transfer would remove their
    // memory from the engine.
    if (rows !== null) this.post({ kind: 'rows', id, rows })
    else if (rest === undefined) {
      const whole = concatBytes(chunks)
      this.post({ kind: 'reply', id, reply: { version, chunks: [whole] } }, [whole.buffer])
    } else {
      const { beginning, pieces } = cutFile(chunks, rest)
      const onClose = () => {
        this.#abort(id)
        this.#running.delete(id)
      }
      const port = offerBody(pieces, { onClose })
      const transfer = [beginning.buffer, port]
      this.post({ kind: 'begun', id, reply: { version, chunks: [beginning] }, rest: port }, transfer)
      return true
    }
    return false
  }

  // ---- questions

  async #answer<Q extends Question>({ id, question, ask }: AskMessage<Q>): Promise<void> {
    const signal = this.#abortable(id)
    try {
      this.post({ kind: 'reply', id, reply: await this.#answers[question](ask, signal, id) })
    } catch (cause) {
      this.#fail(id, cause)
    } finally {
      this.#running.delete(id)
    }
  }

  readonly #answers: Answers = {
    snapshot: (_, signal) => this.#holdings.takeSnapshot(signal),
    release: ({ held }) => this.#holdings.release(held).then(() => undefined),
    begin: (_, signal) => this.#holdings.begin(signal),
    end: (ask, signal, id) => {
      if (ask.aborted) this.#abort(id)
      return this.#holdings.end(ask, signal)
    },
    watch: async ({ than }, signal) => {
      for await (const slot of this.#namespace.watch({ signal })) if (slot !== than) return slot
      throw abortedOnRequest
    },
    optimize: (_, signal) => this.#namespace.optimize({ signal }),
    tableAt: ({ location }, signal) => this.#namespace.tableAt(location, { signal }),
    verify: ({ repair, tellsProgress }, signal, id) => {
      const onProgress = (progress: VerifyProgress) => this.post({ kind: 'progress', id, progress })
      return this.#namespace.verify({ repair, signal, ...(tellsProgress && { onProgress }) })
    },
  }

  // ---- ends

  #fail(id: number, cause: unknown): void {
    const isAborted = cause === abortedOnRequest
    this.post(isAborted ? { kind: 'aborted', id } : { kind: 'failure', id, error: packError(cause) })
  }

  #abortable(id: number): AbortSignal {
    const controller = new AbortController()
    this.#running.set(id, controller)
    return controller.signal
  }

  #abort(id: number): void {
    this.#running.get(id)?.abort(abortedOnRequest)
  }

  async #close(): Promise<void> {
    await this.#namespace.close()
    this.post({ kind: 'closed' })
    // In Deno, the port of a worker to its parent has no `close`.
    if ('close' in this.#port) this.#port.close()
    else process.exit()
  }
}
