/** Stops waiting for work that cannot be canceled. */
import type { Clock } from './clock.js'
import type { MaybePromise } from './task.js'

/** Wait for `value`, but reject with `signal.reason` as soon as the signal fires. The work itself continues. */
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
 * Wait until `work` ends, but at most `ms` milliseconds. The pause keeps the process alive. Rejects with the error of
 * `work`, and with `signal.reason` as soon as the signal fires. The work itself continues.
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
    // Pass a reason: creating the default AbortError takes longer than everything else here.
    timer.abort(null)
  }
}

/**
 * Callbacks by signal. One listener serves all of them, because Node warns about more than ten listeners of one signal.
 */
const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Call `then` when the signal fires. Returns a function that unregisters `then`. The signal has one listener for all
 * callbacks, and none when there are no callbacks.
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

/** Yield the items of `source` until the signal fires. Then throw `signal.reason` without waiting for the source. */
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

/**
 * Return a signal that fires with `reason` after `ms` milliseconds, or when `signal` fires, with the reason of
 * `signal`. `end` stops the timer.
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
