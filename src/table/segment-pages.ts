/** The pages that a segment of a text index reads when they are asked for, under the byte budget of the root. */
import type { PageReader } from '../indexes/text/pages.js'
import { orAborted } from '../primitives/abort.js'
import type { TableSource } from './table-source.js'
import { readVerified } from './verified-range.js'

/** Of the file at `path`; they leave the memory with it. Pages throw corrupted (code 18) where they are not what was written. */
export function segmentPages({ store, pages }: TableSource, path: string): PageReader {
  return {
    page(number, range, signal) {
      const loading = pages.get(
        `${path}/${number}`,
        async claim => {
          claim(range.bytes)
          const bytes = new Uint8Array(range.bytes)
          await readVerified(store, path, range, [bytes])
          return bytes
        },
        path,
      )
      if (loading instanceof Promise) return orAborted(loading, signal)
      signal?.throwIfAborted()
      return loading
    },
  }
}
