/** Aborts calls whose client is gone or whose time limit is over. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import type { OperationEntry } from '../../src/protocol/operations.js'
import { longestTimerMs } from './events.js'

export const timeoutHeader = 'x-request-timeout-ms'

interface Patience {
  /**
   * Return the signal of the call. Call this function only once. A read is aborted when its client is gone. Any call is
   * aborted when its time is over.
   */
  readonly signal: (access: OperationEntry['access']) => AbortSignal | undefined
  /** Time limit of the call from its beginning, milliseconds. */
  readonly ms: number
  /** Stop the time limit, because the call has become a stream. The signal still fires when the client is gone. */
  readonly extend: () => void
  /** Stop the timer, because the call is over. */
  readonly end: () => void
}

/**
 * Return an object that enforces the time limit of a call. `requestMs`: the limit of the server, milliseconds. The
 * client may ask for less time. Throws InvalidInput if the client asks for an invalid time.
 */
export function patienceFor(request: IncomingMessage, requestMs: number): Patience {
  const asked = askedMs(request)
  const ms = Math.min(asked ?? requestMs, requestMs)
  // If the client set the limit, use 408. Many clients repeat a call after 503, so they would wait longer than their
  // caller wanted.
  const status = asked === ms ? 408 : 503
  const isEndless = ms > longestTimerMs
  let end: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  return {
    ms,
    signal: access => {
      const gone = access === 'read' ? endOf(request.socket) : undefined
      if (isEndless) return gone
      const timeIsUp = () => callTimedOut(ms, access, status)
      if (ms === 0) return AbortSignal.abort(timeIsUp())
      const controller = new AbortController()
      timer = setTimeout(() => controller.abort(timeIsUp()), ms)
      const abort = () => controller.abort(gone?.reason)
      if (gone?.aborted) abort()
      else gone?.addEventListener('abort', abort)
      end = () => {
        clearTimeout(timer)
        gone?.removeEventListener('abort', abort)
        // Stops a scan whose reply was not read to its end.
        if (access === 'read') controller.abort(replyIsSent)
      }
      return controller.signal
    },
    extend: () => clearTimeout(timer),
    end: () => end?.(),
  }
}

const replyIsSent = new DOMException('the reply is sent', 'AbortError')

/**
 * Make the error for a timeout. A write can time out only before its commit. LanceDB's users look for `Query timeout`
 * in the error of a read.
 */
function callTimedOut(ms: number, access: OperationEntry['access'], status: number): SheafError {
  const fact = `the call timed out after ${ms} ms`
  const message = access === 'read' ? `Query timeout: ${fact}` : `${fact}: nothing was changed`
  return new SheafError(ErrorCode.ServiceUnavailable, message, {
    status,
    hint: `send a larger ${timeoutHeader}, or ask for less data per call`,
  })
}

function askedMs(request: IncomingMessage): number | undefined {
  const text = request.headers[timeoutHeader]
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^\d{1,15}$/.test(text)) return Number(text)
  throw invalidInput(`${timeoutHeader} must be an integer >= 0, in milliseconds, got ${quote(text)}`)
}

const ends = new WeakMap<Socket, AbortSignal>()

/**
 * Return a signal that aborts when the connection ends. All calls on a connection share one signal, because signals are
 * expensive.
 */
function endOf(socket: Socket): AbortSignal {
  const known = ends.get(socket)
  if (known !== undefined) return known
  const controller = new AbortController()
  if (socket.destroyed) controller.abort()
  else socket.once('close', () => controller.abort())
  ends.set(socket, controller.signal)
  return controller.signal
}
