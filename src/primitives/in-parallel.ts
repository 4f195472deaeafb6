/** Runs asynchronous work on many items, with a limit of concurrent calls. */

/**
 * Call `work` for each item, with at most `maxParallel` concurrent calls, and return the results in the order of the
 * items. After a call has failed, no further call starts. Its error is thrown when all running calls have ended.
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
