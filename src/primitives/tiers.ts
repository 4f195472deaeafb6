/** Decides which files to merge, so that their number stays small. */

/**
 * Return the index from which on files are to be merged. `sizes` are in bytes, oldest file first. The result is the
 * first file that is no larger than all newer files together (times `ratio`), if the merged file has at most `maxBytes`
 * bytes. After each merge every file is larger than all newer files together. So the number of files is at most
 * logarithmic in their size, and a byte is rewritten only when its file doubles.
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
