/** A store that is far away, with copies of its blobs on a local disk. */
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import type { BlobStore, ByteRange } from './blob-store.js'
import { blockBytes, type DiskCache } from './disk-cache.js'
import { withMethods } from './with-methods.js'

/**
 * Return `store` with reads that are answered from a cache where it has the bytes. `cacheOf`: returns the cache for a blob
 * that always has the same bytes under this key, in every copy of the root, and a checksum that the log names. Returns null
 * for other blobs.
 */
export function withDiskCache(store: BlobStore, cacheOf: (key: string) => DiskCache | null): BlobStore {
  const fetched = async (
    cache: DiskCache,
    key: string,
    ranges: readonly ByteRange[],
    signal: AbortSignal | undefined,
  ) => {
    // Blocks are kept from their beginnings on.
    const wider = ranges.map(({ offset, target }) => {
      const before = offset % blockBytes
      return { offset: offset - before, target: new Uint8Array(before + target.length) }
    })
    await store.readRanges(key, wider, signal)
    for (const [i, { target }] of ranges.entries()) {
      const whole = wider[i]!.target
      target.set(whole.subarray(whole.length - target.length))
    }
    cache.keep(key, wider)
  }
  const readRanges = (
    key: string,
    ranges: readonly ByteRange[],
    signal: AbortSignal | undefined,
  ): MaybePromise<void> => {
    signal?.throwIfAborted()
    const cache = cacheOf(key)
    if (cache === null) return store.readRanges(key, ranges, signal)
    return whenResolved(cache.read(key, ranges), left => {
      signal?.throwIfAborted()
      if (left.length > 0) return fetched(cache, key, left, signal)
    })
  }
  return withMethods(store, {
    async get(key, signal) {
      signal?.throwIfAborted()
      const cache = cacheOf(key)
      const kept = (await cache?.whole(key)) ?? null
      if (kept !== null) return kept
      const bytes = await store.get(key, signal)
      if (bytes !== null) cache?.keep(key, [{ offset: 0, target: bytes.slice() }], bytes.length)
      return bytes
    },
    async getRange(key, offset, length, signal) {
      const target = new Uint8Array(length)
      await readRanges(key, [{ offset, target }], signal)
      return target
    },
    async readInto(key, offset, target, signal) {
      await readRanges(key, [{ offset, target }], signal)
    },
    readRanges,
  })
}
