/** Functions that stop waiting for work when a signal aborts. The work itself cannot be canceled. */
import type { Clock } from './clock.js'
import type { MaybePromise } from './task.js'

/** Wait for `value`, but reject with `signal.reason` when the signal aborts. The work behind `value` continues. */
export function orAborted<T>(value: MaybePromise<T>, signal: AbortSignal | undefined): Promise<T> {
  const promise = Promise.resolve(value)
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    let forget = () => {}
    if (signal.aborted) abort()
    else forget = whenAborted(signal, abort)
    promise.then(resolve, reject).finally(forget)
  })
}

/**
 * Wait until `work` ends, but at most `ms` milliseconds. The process does not exit while this function waits. Rejects
 * with the error of `work`, and with `signal.reason` when the signal aborts. After a timeout or an abort, `work`
 * continues.
 */
export async function within(
  clock: Clock,
  ms: number,
  work: Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  const timer = new AbortController()
  const timeout = clock.sleep(ms, timer.signal, true).catch(() => {})
  try {
    await orAborted(Promise.race([work, timeout]), signal)
  } finally {
    // Pass a reason, because creating the default AbortError would take longer than the rest of this function.
    timer.abort(null)
  }
}

/**
 * Callbacks by signal. A signal has one listener that calls all of its callbacks, because Node warns about a signal
 * with more than ten listeners.
 */
const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Call `then` when the signal aborts. Returns a function that unregisters `then`. When the last callback of a signal is
 * unregistered, its listener is removed.
 */
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

/** Yield the items of `source`. When the signal aborts, throw `signal.reason` without waiting for the source. */
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
    // Do not await `return`, because a source that hangs in `next` hangs in `return` too.
    if (!done) Promise.resolve(iterator.return?.()).catch(() => {})
  }
}

/**
 * Return a signal that aborts with `reason` after `ms` milliseconds. If `signal` aborts earlier, it aborts with the
 * reason of `signal`. The returned function `end` stops the timer.
 */
export function deadline(
  clock: Clock,
  ms: number,
  reason: unknown,
  signal: AbortSignal | undefined,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const expired = new AbortController()
  const ended = new AbortController()
  clock.sleep(ms, ended.signal).then(
    () => expired.abort(reason),
    () => {},
  )
  const combined = signal === undefined ? expired.signal : AbortSignal.any([expired.signal, signal])
  return { signal: combined, end: () => ended.abort() }
}
