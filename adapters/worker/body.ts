/**
 * Streams bytes between threads. The reader requests a piece with an empty message, and requests the next piece as soon
 * as one has arrived. So both threads work concurrently, and at most two pieces are in transit. The memory of a piece
 * is transferred, not copied.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { orAborted } from '../../src/primitives/abort.js'
import type { ErrorBody } from '../../src/protocol/errors-wire.js'
import { packError, unpackError } from './messages.js'

type Piece = { readonly bytes: Uint8Array } | { readonly error: ErrorBody } | null

interface Offering {
  /** Called with an error that `pieces` throws. The other thread gets this error, too. */
  readonly onError?: (cause: unknown) => void
  /** Called when the other thread has closed its port, because it has all pieces or needs no more. */
  readonly onClose?: () => void
}

/** Return a port from which another thread can read `pieces`. When that thread closes the port, `pieces` is closed. */
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

/**
 * Read the pieces that another thread offers on `port`. Throws the error of the pieces, or the reason of the signal.
 * The caller must abort the signal if the other thread ends, because the port does not show this.
 */
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
