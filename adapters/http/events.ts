/** Waiting for things that happen to sockets. */
import type { EventEmitter } from 'node:events'

type Happening = readonly [emitter: EventEmitter, event: string]

/** Resolves at the first of these events; errors among them are events like any other. Leaves no listener behind. */
export function first(...events: readonly Happening[]): Promise<void> {
  return new Promise(resolve => {
    const happened = () => {
      for (const [emitter, event] of events) emitter.off(event, happened)
      resolve()
    }
    for (const [emitter, event] of events) emitter.on(event, happened)
  })
}

/** `first`, for so long: false where nothing happened within `ms`. Rejects with `signal.reason`. */
export function firstWithin(
  ms: number,
  signal: AbortSignal | undefined,
  ...events: readonly Happening[]
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

/** Timers for longer fire at once. */
export const longestTimerMs = 2 ** 31 - 1
