/** Selects files to merge, so that the number of files stays small. */

/**
 * Return the index of the first file to merge; all newer files are merged with it. `sizes`: bytes of the files, oldest
 * file first.
 *
 * The first file to merge is the oldest file that is not larger than all newer files together (times `ratio`, default
 * 1). Files that would make the merged file larger than `maxBytes` are not considered. If no file meets these
 * conditions, the result is the index of the newest file.
 *
 * After each merge, every file is larger than all newer files together. So the number of files is at most logarithmic
 * in their size, and a byte is rewritten only when the size of its file doubles.
 */
export function mergedFrom(sizes: readonly number[], maxBytes: number, ratio = 1): number {
  let start = Math.max(0, sizes.length - 1)
  let newerBytes = 0
  for (let i = sizes.length - 1; i >= 0; i--) {
    if (newerBytes + sizes[i]! > maxBytes) break
    if (sizes[i]! <= newerBytes * ratio) start = i
    newerBytes += sizes[i]!
  }
  return start
}
