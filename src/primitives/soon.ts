/**
 * Work that waits only where it must. Most of what a query reads lies in memory; an `await` for each of it, at each of the
 * layers it comes through, takes longer than the work itself.
 *
 * Such work is a generator that yields what it has to wait for, as a promise, and goes on once that has come. One that gives
 * values on the way is a `Flow`; its values are never promises, so whoever pulls it can tell them apart:
 *
 *     for (const next of flow) {
 *       if (next instanceof Promise) await next
 *       else use(next)
 *     }
 *
 * What was waited for and fails, fails where it is awaited; the generator is closed.
 */

/** A value that is there, or will be. Both can be awaited. */
export type Soon<T> = T | Promise<T>

/** Work with one result. */
export type Waits<T> = Generator<Promise<unknown>, T, undefined>

/** Values one after the other. */
export type Flow<T> = Generator<T | Promise<unknown>, void, undefined>

/** Within work: `yield* arrival(soon)` is the value. */
export function* arrival<T>(soon: Soon<T>): Waits<T> {
  if (!(soon instanceof Promise)) return soon
  const came: T[] = []
  yield soon.then(value => {
    came.push(value)
  })
  // Who called may hold this generator for longer than it needs the value.
  return came.pop()!
}

/** Begins several pieces of work at once: `yield* together(works)` are their results, in order. */
export function* together<T>(works: readonly (() => Soon<T>)[]): Waits<readonly T[]> {
  const results: Soon<T>[] = []
  try {
    for (const work of works) results.push(work())
  } catch (error) {
    for (const result of results) if (result instanceof Promise) result.catch(() => {})
    throw error
  }
  if (results.some(result => result instanceof Promise)) return yield* arrival(Promise.all(results))
  return results as readonly T[]
}

/** What is made of a value, as soon as that is there. */
export function whenThere<T, R>(soon: Soon<T>, make: (value: T) => Soon<R>): Soon<R> {
  return soon instanceof Promise ? soon.then(make) : make(soon)
}

/** Begins work: its result, where it has nothing to wait for. */
export function begun<T>(work: Waits<T>): Soon<T> {
  const { done, value } = work.next()
  return done === true ? value : finished(work, value)
}

async function finished<T>(work: Waits<T>, waited: Promise<unknown>): Promise<T> {
  try {
    for (;;) {
      await waited
      const { done, value } = work.next()
      if (done === true) return value
      waited = value
    }
  } finally {
    work.return(undefined as never)
  }
}

/** The values of a flow, for who has to wait for each anyway. */
export async function* awaited<T>(flow: Flow<T>): AsyncGenerator<T> {
  for (const next of flow) {
    if (next instanceof Promise) await next
    else yield next
  }
}
