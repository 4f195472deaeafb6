/** Which of many files are made one, so that there are never many. */

/**
 * The index from which on files, oldest first, are to be made one: each that is no larger than all after it together, as long
 * as what comes of it has at most `most` bytes. Then each is larger than all after it, and there are no more than their sizes
 * have bits; and a byte is written again only where what it lies in doubles.
 */
export function mergedFrom(sizes: readonly number[], most: number): number {
  let start = sizes.length - 1
  let bytes = sizes[start] ?? 0
  while (start > 0 && sizes[start - 1]! <= bytes && bytes + sizes[start - 1]! <= most)
    bytes += sizes[--start]!
  return Math.max(0, start)
}
