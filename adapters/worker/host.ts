/** The worker's side: carries out the calls that come over a port. */
import { MessagePort } from 'node:worker_threads'
import type { Namespace, VerifyProgress } from '../../src/index.js'
import type { ArrowReply } from '../../src/protocol/calls.js'
import { operations } from '../../src/protocol/operations.js'
import { cutFile, joined } from '../bytes.js'
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

/** How each question is answered. `id`: of the message. */
type Answers = {
  readonly [Q in Question]: (
    ask: Questions[Q]['ask'],
    signal: AbortSignal,
    id: number,
  ) => Promise<Questions[Q]['answer']>
}

/** The reason of calls that were aborted on request. The program does not need it: it has the caller's own reason. */
const abortedOnRequest = new DOMException('the caller gave up', 'AbortError')

/**
 * Answer calls on `port` until a message closes `namespace`. `uploadBytes`: budget of all uploads together while they are decoded, bytes.
 */
export function host(port: MessagePort, namespace: Hosted, uploadBytes: number): void {
  const holdings = new Holdings(namespace)
  const uploads = new UploadMemory(uploadBytes)
  /** Calls that can be aborted. */
  const running = new Map<number, AbortController>()
  const post = (message: FromWorker, transfer: readonly (ArrayBuffer | MessagePort)[] = []) =>
    port.postMessage(message, transfer)

  async function perform(message: CallMessage): Promise<void> {
    const { id, name, request, body, options, held } = message
    const mayStream = options.streamAfter !== undefined
    const signal = message.abortable || mayStream ? abortable(id) : undefined
    let isBegun = false
    const memory = body instanceof MessagePort ? uploads.account() : undefined
    try {
      const data = body instanceof MessagePort ? drawBody(body) : body
      const told = memory === undefined ? options : { ...options, memory }
      const call = { name, request, body: data, options: signal ? { ...told, signal } : told }
      const result = await carryOut(holdings.operationsOf(held), call)
      if (operations[name].reply !== 'arrow') post({ kind: 'reply', id, reply: result })
      else isBegun = postRows(id, result as ArrowReply)
    } catch (cause) {
      fail(id, cause)
    } finally {
      // A reply whose rest still streams stays abortable.
      if (signal !== undefined && !isBegun) running.delete(id)
      memory?.close()
      if (body instanceof MessagePort) body.close()
    }
  }

  /** Send the rows of a reply. Returns whether a rest follows. */
  function postRows(id: number, reply: ArrowReply): boolean {
    const rows = fewRows(reply)
    const { version, chunks, rest } = reply
    // Chunks are views of columns in the engine's cache. Transferring one would take its memory from the engine, so chunks are copied.
    if (rows !== null) post({ kind: 'rows', id, rows })
    else if (rest === undefined) {
      const whole = joined(chunks)
      post({ kind: 'reply', id, reply: { version, chunks: [whole] } }, [whole.buffer])
    } else {
      const { beginning, pieces } = cutFile(chunks, rest)
      const onClose = () => {
        abort(id)
        running.delete(id)
      }
      const port = offerBody(pieces, { onClose })
      post({ kind: 'begun', id, reply: { version, chunks: [beginning] }, rest: port }, [
        beginning.buffer,
        port,
      ])
      return true
    }
    return false
  }

  async function answer<Q extends Question>({ id, question, ask }: AskMessage<Q>): Promise<void> {
    const signal = abortable(id)
    try {
      post({ kind: 'reply', id, reply: await answers[question](ask, signal, id) })
    } catch (cause) {
      fail(id, cause)
    } finally {
      running.delete(id)
    }
  }

  const answers: Answers = {
    snapshot: (_, signal) => holdings.takeSnapshot(signal),
    release: ({ held }) => holdings.release(held).then(() => undefined),
    begin: (_, signal) => holdings.begin(signal),
    end(ask, signal, id) {
      if (ask.aborted) abort(id)
      return holdings.end(ask, signal)
    },
    async watch({ than }, signal) {
      for await (const slot of namespace.watch({ signal })) if (slot !== than) return slot
      throw abortedOnRequest
    },
    optimize: (_, signal) => namespace.optimize({ signal }),
    tableAt: ({ location }, signal) => namespace.tableAt(location, { signal }),
    verify({ repair, tellsProgress }, signal, id) {
      const onProgress = (progress: VerifyProgress) => post({ kind: 'progress', id, progress })
      return namespace.verify({ repair, signal, ...(tellsProgress && { onProgress }) })
    },
  }

  function fail(id: number, cause: unknown): void {
    post(
      cause === abortedOnRequest ? { kind: 'aborted', id } : { kind: 'failure', id, error: packError(cause) },
    )
  }

  function abortable(id: number): AbortSignal {
    const controller = new AbortController()
    running.set(id, controller)
    return controller.signal
  }

  function abort(id: number): void {
    running.get(id)?.abort(abortedOnRequest)
  }

  async function close(): Promise<void> {
    await namespace.close()
    post({ kind: 'closed' })
    // The port of a worker's parent cannot be closed in Deno.
    if ('close' in port) port.close()
    else process.exit()
  }

  port.on('message', (message: ToWorker) => {
    if (message.kind === 'call') void perform(message)
    else if (message.kind === 'ask') void answer(message)
    else if (message.kind === 'abort') abort(message.id)
    else void close()
  })
  post({ kind: 'open' })
}
