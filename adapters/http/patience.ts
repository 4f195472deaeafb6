/** Ends calls whose client is gone or whose time is up. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import type { OperationEntry } from '../../src/protocol/operations.js'
import { longestTimerMs } from './events.js'

const timeoutHeader = 'x-request-timeout-ms'

interface Patience {
  /** Return the signal of the call; call it once. A read is aborted when its client is gone, any call when its time is up. */
  readonly signal: (access: OperationEntry['access']) => AbortSignal | undefined
  /** Let the call take any time from now on. The signal still fires when the client is gone. */
  readonly extend: () => void
  /** Note that the call is over. */
  readonly end: () => void
}

/** Make the deadline of a call. `requestMs`: the limit, milliseconds. Throws InvalidInput if the client asks for an invalid time. */
export function patienceFor(request: IncomingMessage, requestMs: number): Patience {
  const asked = askedMs(request)
  const ms = Math.min(asked ?? requestMs, requestMs)
  // 408, because many clients try again at 503, and so for longer than their callers wanted to wait.
  const status = asked === ms ? 408 : 503
  const isEndless = ms > longestTimerMs
  let end: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  return {
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
        // Ends a scan whose reply was not read completely.
        if (access === 'read') controller.abort(replyIsSent)
      }
      return controller.signal
    },
    extend: () => clearTimeout(timer),
    end: () => end?.(),
  }
}

const replyIsSent = new DOMException('the reply is out', 'AbortError')

/**
 * Make the error of a timeout. A write times out only before its commit. LanceDB's users look for `Query timeout` in the error of a read.
 */
function callTimedOut(ms: number, access: OperationEntry['access'], status: number): SheafError {
  const fact = `the call timed out after ${ms} ms`
  const message = access === 'read' ? `Query timeout: ${fact}` : `${fact}: nothing was changed`
  return new SheafError(ErrorCode.ServiceUnavailable, message, {
    status,
    hint: `give it more time with ${timeoutHeader}, or ask for less at once`,
  })
}

function askedMs(request: IncomingMessage): number | undefined {
  const text = request.headers[timeoutHeader]
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^\d{1,15}$/.test(text)) return Number(text)
  throw invalidInput(`${timeoutHeader} must be a whole number of milliseconds >= 0, got ${quote(text)}`)
}

const ends = new WeakMap<Socket, AbortSignal>()

/** Return a signal that fires when the connection ends: one for all calls on the connection, because signals are expensive. */
function endOf(socket: Socket): AbortSignal {
  const known = ends.get(socket)
  if (known !== undefined) return known
  const controller = new AbortController()
  if (socket.destroyed) controller.abort()
  else socket.once('close', () => controller.abort())
  ends.set(socket, controller.signal)
  return controller.signal
}
