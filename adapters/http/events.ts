/** Waits for events of sockets. */
import type { EventEmitter } from 'node:events'

type SocketEvent = readonly [emitter: EventEmitter, event: string]

/** Resolve when the first of these events is emitted; an `error` event also resolves. Removes all its listeners. */
export function first(...events: readonly SocketEvent[]): Promise<void> {
  return new Promise(resolve => {
    const happened = () => {
      for (const [emitter, event] of events) emitter.off(event, happened)
      resolve()
    }
    for (const [emitter, event] of events) emitter.on(event, happened)
  })
}

/**
 * Resolve with true at the first of these events, or with false after `ms` milliseconds without an event. Rejects with
 * `signal.reason` if the signal aborts.
 */
export function firstWithin(
  ms: number,
  signal: AbortSignal | undefined,
  ...events: readonly SocketEvent[]
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      for (const [emitter, event] of events) emitter.off(event, happened)
      signal?.removeEventListener('abort', aborted)
      clearTimeout(timer)
      settle()
    }
    const happened = end(() => resolve(true))
    const aborted = end(() => reject(signal!.reason))
    const timer = setTimeout(
      end(() => resolve(false)),
      Math.min(ms, longestTimerMs),
    )
    if (signal?.aborted === true) return aborted()
    signal?.addEventListener('abort', aborted)
    for (const [emitter, event] of events) emitter.on(event, happened)
  })
}

/** Maximum delay of a timer, milliseconds. Node fires a timer with a longer delay immediately. */
export const longestTimerMs = 2 ** 31 - 1
