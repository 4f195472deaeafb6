/** When a call is given up. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { deadline } from '../../src/primitives/abort.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { OperationEntry } from '../../src/protocol/operations.js'
import { longestTimerMs } from './events.js'
import { isGone, whenGone } from './reply.js'

const timeoutHeader = 'x-request-timeout-ms'

export interface Patience {
  /** For a read: aborted when its client is gone. For any call: aborted when its time is up. */
  readonly signal: (access: OperationEntry['access']) => AbortSignal | undefined
  /** The call is over. */
  readonly end: () => void
}

/** Throws code 13 where the client asks for a time that is none. */
export function patienceFor(request: IncomingMessage, response: ServerResponse, requestMs: number): Patience {
  const ms = Math.min(askedMs(request) ?? requestMs, requestMs)
  if (ms > longestTimerMs) {
    return {
      signal: access => (access === 'read' ? untilGone(request, response) : undefined),
      end: () => {},
    }
  }
  const over = new SheafError(ErrorCode.ServiceUnavailable, `the call did not end within ${ms} ms`, {
    hint: `give it more time with ${timeoutHeader}, or ask for less at once`,
  })
  const ends: (() => void)[] = []
  return {
    signal: access => {
      const { signal, end } = deadline(
        systemClock,
        ms,
        over,
        access === 'read' ? untilGone(request, response) : undefined,
      )
      ends.push(end)
      return signal
    },
    end: () => {
      for (const end of ends) end()
    },
  }
}

function askedMs(request: IncomingMessage): number | undefined {
  const text = request.headers[timeoutHeader]
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^\d{1,15}$/.test(text) && Number(text) > 0) return Number(text)
  throw invalidInput(`${timeoutHeader} must be a whole number of milliseconds > 0, got ${quote(text)}`)
}

/** Aborted when the client goes away before its reply is out. */
function untilGone(request: IncomingMessage, response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (isGone(request, response)) controller.abort()
  else {
    whenGone(request, response).then(() => {
      if (!response.writableFinished) controller.abort()
    })
  }
  return controller.signal
}
