/** Reads pages of text index segments on demand, and caches them in the memory budget of the root. */
import type { PageRange, PageReader } from '../indexes/text/pages.js'
import { orAborted } from '../primitives/abort.js'
import { readRange } from './data-file.js'
import type { TableSource } from './table-source.js'

/**
 * Return a reader of the pages of the file at `path`. When the file is deleted, the cache drops its pages. Reading a
 * damaged page throws Internal ("corrupted").
 */
export function segmentPages(source: TableSource, path: string): PageReader {
  const { pages } = source
  /** Cache keys by page number. Keys are kept, because JavaScript hashes a string object only once. */
  const keys: string[] = []
  // A function of its own, because a function with this closure would allocate memory at each call.
  const load = (key: string, range: PageRange, signal: AbortSignal | undefined) => {
    const loading = pages.get(
      key,
      async claim => {
        claim(range.bytes)
        return readRange(source, path, range)
      },
      path,
    )
    return loading instanceof Promise ? orAborted(loading, signal) : loading
  }
  return {
    page(number, range, signal) {
      signal?.throwIfAborted()
      keys[number] ??= `${path}/${number}`
      return pages.peek(keys[number]) ?? load(keys[number], range, signal)
    },
  }
}
