/**
 * A body that streams between threads: the reader asks for each piece with an empty message, so no more than one is on its
 * way. Pieces are given away, not copied.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { ErrorBody } from '../../src/protocol/errors-wire.js'
import { inPieces } from '../bytes.js'
import { packError, unpackError } from './messages.js'

type Piece = { readonly bytes: Uint8Array } | { readonly error: ErrorBody } | null

/** Offers `body` on a port for the other thread. Closing that port there ends the body here. */
export function offerBody(body: AsyncIterable<Uint8Array>, onError: (cause: unknown) => void): MessagePort {
  const { port1: near, port2: far } = new MessageChannel()
  const pieces = inPieces(body)
  const give = async (): Promise<void> => {
    try {
      const { value, done } = await pieces.next()
      if (done) near.postMessage(null satisfies Piece)
      else near.postMessage({ bytes: value } satisfies Piece, [value.buffer])
    } catch (cause) {
      onError(cause)
      near.postMessage({ error: packError(cause) } satisfies Piece)
    }
  }
  near.on('message', () => void give())
  near.on('close', () => void pieces.return(undefined).catch(() => {}))
  return far
}

/** The body offered on `port`. Throws what it throws. */
export async function* drawBody(port: MessagePort): AsyncGenerator<Uint8Array> {
  for (;;) {
    const arrived = new Promise<Piece>(resolve => port.once('message', resolve))
    port.postMessage(undefined)
    const piece = await arrived
    if (piece === null) return
    if ('error' in piece) throw unpackError(piece.error)
    yield piece.bytes
  }
}
