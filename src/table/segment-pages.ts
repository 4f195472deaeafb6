/** Reads pages of text index segments on demand, and caches them in the memory budget of the root. */
import type { PageReader } from '../indexes/text/pages.js'
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
  return {
    page(number, range, signal) {
      keys[number] ??= `${path}/${number}`
      const loading = pages.get(
        keys[number],
        async claim => {
          claim(range.bytes)
          return readRange(source, path, range)
        },
        path,
      )
      if (loading instanceof Promise) return orAborted(loading, signal)
      signal?.throwIfAborted()
      return loading
    },
  }
}
