/** Which of many files are made one, so that there are never many. */

/**
 * The index from which on files, oldest first, are to be made one: the first that is no larger than all after it together, if
 * what comes of it has at most `most` bytes. Then each is larger than all after it, and there are no more than their sizes
 * have bits; and a byte is written again only where what it lies in doubles.
 */
export function mergedFrom(sizes: readonly number[], most: number, ratio = 1): number {
  let start = Math.max(0, sizes.length - 1)
  let after = 0
  for (let i = sizes.length - 1; i >= 0; i--) {
    if (after + sizes[i]! > most) break
    if (sizes[i]! <= after * ratio) start = i
    after += sizes[i]!
  }
  return start
}
