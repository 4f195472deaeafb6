/** The pages that a segment of a text index reads when they are asked for, under the byte budget of the root. */
import type { PageReader } from '../indexes/text/pages.js'
import { orAborted } from '../primitives/abort.js'
import { readRange } from './data-file.js'
import type { TableSource } from './table-source.js'

/** Of the file at `path`; they leave the memory with it. Pages throw corrupted (code 18) where they are not what was written. */
export function segmentPages(source: TableSource, path: string): PageReader {
  const { pages } = source
  /** By number. A text that was looked up once knows its hash. */
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
