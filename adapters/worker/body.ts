/**
 * Bytes that stream between threads: the reader asks for each piece with an empty message, for the next one when it has got one, so that
 * both threads are at work and no more than two pieces are on their way. Pieces are given away, not copied.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { orAborted } from '../../src/primitives/abort.js'
import type { ErrorBody } from '../../src/protocol/errors-wire.js'
import { packError, unpackError } from './messages.js'

type Piece = { readonly bytes: Uint8Array } | { readonly error: ErrorBody } | null

export interface Offering {
  /** Told what the pieces throw, as the other thread is. */
  readonly onError?: (cause: unknown) => void
  /** The other thread has closed its port: it has all, or wants no more. */
  readonly onClose?: () => void
}

/** Offers `pieces` on a port for the other thread. Closing that port there ends them here. */
export function offerBody(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  { onError, onClose }: Offering,
): MessagePort {
  const { port1: near, port2: far } = new MessageChannel()
  const give = async (): Promise<void> => {
    try {
      const { value, done } = await pieces.next()
      if (done) near.postMessage(null satisfies Piece)
      else near.postMessage({ bytes: value } satisfies Piece, [value.buffer])
    } catch (cause) {
      onError?.(cause)
      near.postMessage({ error: packError(cause) } satisfies Piece)
    }
  }
  near.on('message', () => void give())
  near.on('close', () => {
    onClose?.()
    void pieces.return(undefined).catch(() => {})
  })
  return far
}

/** The pieces offered on `port`. Throws what they throw, and the reason of the signal: a thread that ends does not say so here. */
export async function* drawBody(port: MessagePort, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const ask = () => {
    const arrived = new Promise<Piece>(resolve => port.once('message', resolve))
    port.postMessage(undefined)
    return arrived
  }
  for (let next = ask(); ; ) {
    const piece = await orAborted(next, signal)
    if (piece === null) return
    if ('error' in piece) throw unpackError(piece.error)
    next = ask()
    yield piece.bytes
  }
}
