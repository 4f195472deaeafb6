/** Runs asynchronous work on many items, a few at a time. */

/**
 * Apply `work` to each item, at most `maxParallel` at a time, and return the results in the order of the items. After a
 * failure no further item starts. The error is thrown when all running items have ended.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  maxParallel: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length)
  let next = 0
  const run = async () => {
    while (next < items.length) {
      const i = next++
      try {
        results[i] = await work(items[i]!)
      } catch (error) {
        next = items.length
        throw error
      }
    }
  }
  const runs = Array.from({ length: Math.min(maxParallel, items.length) }, run)
  await Promise.allSettled(runs)
  await Promise.all(runs)
  return results
}
