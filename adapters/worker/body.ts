/**
 * Streams bytes between threads. The reader requests each piece with an empty message, and the next one when a piece has arrived. So both
 * threads work at the same time, with at most two pieces in transit. Pieces are transferred, not copied.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { orAborted } from '../../src/primitives/abort.js'
import type { ErrorBody } from '../../src/protocol/errors-wire.js'
import { packError, unpackError } from './messages.js'

type Piece = { readonly bytes: Uint8Array } | { readonly error: ErrorBody } | null

interface Offering {
  /** Called with an error of the pieces, which the other thread gets as well. */
  readonly onError?: (cause: unknown) => void
  /** Called when the other thread has closed its port: it has everything, or wants no more. */
  readonly onClose?: () => void
}

/** Offer `pieces` on a port for the other thread. Closing the port there ends the pieces here. */
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

/** Read the pieces offered on `port`. Throws their error, and the reason of the signal: the end of the other thread is not visible here. */
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
