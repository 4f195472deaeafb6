/** Giving up on work that cannot be told to stop. */
import type { Clock } from './clock.js'
import type { MaybePromise } from './task.js'

/** What comes, or a rejection with `signal.reason` as soon as the signal fires; the work behind it goes on. */
export function orAborted<T>(soon: MaybePromise<T>, signal: AbortSignal | undefined): Promise<T> {
  const promise = Promise.resolve(soon)
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    let forget = () => {}
    if (signal.aborted) abort()
    else forget = whenAborted(signal, abort)
    promise.then(resolve, reject).finally(forget)
  })
}

/** Who waits for a signal: many do for the same, and Node warns of more than ten listeners. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/** Calls `then` when the signal fires. Returns a function that takes `then` back. The signal has one listener for all callers, and none when nobody waits. */
export function whenAborted(signal: AbortSignal, then: () => void): () => void {
  const known = waiting.get(signal)
  const all = known ?? new Set()
  if (known === undefined) {
    waiting.set(signal, all)
    signal.addEventListener('abort', callAll)
  }
  all.add(then)
  return () => {
    if (!all.delete(then) || all.size > 0) return
    waiting.delete(signal)
    signal.removeEventListener('abort', callAll)
  }
}

function callAll({ target }: Event): void {
  for (const each of waiting.get(target as AbortSignal) ?? []) each()
}

/** The items of `source`, until the signal fires: then throws `signal.reason` without waiting for the source. */
export async function* eachOrAborted<T>(
  source: AsyncIterable<T> | Iterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T> {
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  let done = false
  try {
    for (;;) {
      signal?.throwIfAborted()
      const next = await orAborted(Promise.resolve(iterator.next()), signal)
      if (next.done) {
        done = true
        return
      }
      yield next.value
    }
  } finally {
    // Not awaited: a source that hangs in `next` would hang here too.
    if (!done) Promise.resolve(iterator.return?.()).catch(() => {})
  }
}

/** A signal that fires with `reason` after `ms` milliseconds, or with its own when `signal` does; `end` lets go of both. */
export function deadline(
  clock: Clock,
  ms: number,
  reason: unknown,
  signal: AbortSignal | undefined,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const over = new AbortController()
  const ended = new AbortController()
  clock.sleep(ms, ended.signal).then(
    () => over.abort(reason),
    () => {},
  )
  const either = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal])
  return { signal: either, end: () => ended.abort() }
}
