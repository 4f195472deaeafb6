/** Reads pages of text index segments on demand, and caches them in the memory budget of the root. */
import type { PageReader } from '../indexes/text/pages.js'
import { orAborted } from '../primitives/abort.js'
import { readRange } from './data-file.js'
import type { TableSource } from './table-source.js'

/**
 * Return a reader of the pages of the file at `path`. The cache evicts the pages together with the file. Reading a
 * damaged page throws Internal ("corrupted").
 */
export function segmentPages(source: TableSource, path: string): PageReader {
  const { pages } = source
  /** Keys by page number. A string keeps its hash after the first lookup. */
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
