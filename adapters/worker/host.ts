/** The worker's side: carries out the calls that come over a port. */
import { MessagePort } from 'node:worker_threads'
import type { ArrowReply, Operations } from '../../src/protocol/calls.js'
import { operations } from '../../src/protocol/operations.js'
import { joined } from '../bytes.js'
import { carryOut } from '../calls.js'
import { drawBody } from './body.js'
import { type CallMessage, type FromWorker, packError, type ToWorker } from './messages.js'

export interface Hosted {
  readonly operations: Operations
  close(): Promise<void>
}

/** Answers calls on `port` until it is told to close `namespace`. */
export function host(port: MessagePort, namespace: Hosted): void {
  /** Calls that can be told to give up. */
  const running = new Map<number, AbortController>()
  const say = (message: FromWorker, transfer: readonly ArrayBuffer[] = []) =>
    port.postMessage(message, transfer)

  async function perform(message: CallMessage): Promise<void> {
    const { id, name, request, body, options } = message
    const signal = message.abortable ? abortable(id) : undefined
    try {
      const data = body instanceof MessagePort ? drawBody(body) : body
      const call = { name, request, body: data, options: signal ? { ...options, signal } : options }
      const result = await carryOut(namespace.operations, call)
      if (operations[name].reply !== 'arrow') say({ kind: 'reply', id, reply: result })
      else {
        const reply = gathered(result as ArrowReply)
        say({ kind: 'reply', id, reply }, [reply.chunks[0].buffer])
      }
    } catch (cause) {
      if (signal?.aborted && cause === signal.reason) say({ kind: 'aborted', id })
      else say({ kind: 'failure', id, error: packError(cause) })
    } finally {
      if (signal !== undefined) running.delete(id)
      if (body instanceof MessagePort) body.close()
    }
  }

  function abortable(id: number): AbortSignal {
    const controller = new AbortController()
    running.set(id, controller)
    return controller.signal
  }

  async function close(): Promise<void> {
    await namespace.close()
    say({ kind: 'closed' })
    port.close()
  }

  port.on('message', (message: ToWorker) => {
    if (message.kind === 'call') void perform(message)
    else if (message.kind === 'abort') running.get(message.id)?.abort()
    else void close()
  })
  say({ kind: 'open' })
}

/** Chunks view columns that the engine keeps: to give one away would take its memory from under the engine. */
function gathered({ version, chunks }: ArrowReply) {
  return { version, chunks: [joined(chunks)] as const }
}
