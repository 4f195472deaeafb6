/** When a call is given up. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import type { OperationEntry } from '../../src/protocol/operations.js'
import { longestTimerMs } from './events.js'

const timeoutHeader = 'x-request-timeout-ms'

export interface Patience {
  /** To be asked for once. For a read: aborted when its client is gone. For any call: aborted when its time is up. */
  readonly signal: (access: OperationEntry['access']) => AbortSignal | undefined
  /** The call is over. */
  readonly end: () => void
}

/** Throws code 13 where the client asks for a time that is none. */
export function patienceFor(request: IncomingMessage, requestMs: number): Patience {
  const asked = askedMs(request)
  const ms = Math.min(asked ?? requestMs, requestMs)
  // Many clients try again at 503: they would for longer than their callers wanted to wait.
  const status = asked === ms ? 408 : 503
  const isEndless = ms > longestTimerMs
  let end: (() => void) | undefined
  return {
    signal: access => {
      const gone = access === 'read' ? endOf(request.socket) : undefined
      if (isEndless) return gone
      const timeIsUp = () => callTimedOut(ms, access, status)
      if (ms === 0) return AbortSignal.abort(timeIsUp())
      const controller = new AbortController()
      const timer = setTimeout(() => controller.abort(timeIsUp()), ms)
      const abort = () => controller.abort(gone?.reason)
      if (gone?.aborted) abort()
      else gone?.addEventListener('abort', abort)
      end = () => {
        clearTimeout(timer)
        gone?.removeEventListener('abort', abort)
        // Ends a scan whose reply was not read to its end.
        if (access === 'read') controller.abort(isOut)
      }
      return controller.signal
    },
    end: () => end?.(),
  }
}

const isOut = new DOMException('the reply is out', 'AbortError')

/** A write is given up only before its commit. Of a read LanceDB's users look for `Query timeout`. */
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

/** Fires when the connection ends: one signal for all that is ever asked on it, since signals are dear. */
function endOf(socket: Socket): AbortSignal {
  const known = ends.get(socket)
  if (known !== undefined) return known
  const controller = new AbortController()
  if (socket.destroyed) controller.abort()
  else socket.once('close', () => controller.abort())
  ends.set(socket, controller.signal)
  return controller.signal
}
