/** A store that records what the checks write, so that it can be deleted, also if the checks are stopped. */
import { eachOrAborted } from '../../src/primitives/abort.js'
import { inParallel } from '../../src/primitives/in-parallel.js'
import type { BlobInfo, BlobStore } from '../../src/storage/blob-store.js'
import { isKey } from '../../src/storage/key.js'

const deletesAtOnce = 16

interface Recording {
  /** Passes calls on to the store that is checked. When the signal has aborted, every new call rejects with its reason. */
  readonly store: BlobStore
  /** Wait for the calls that have begun, and delete the blobs that may have been written. */
  deleteAll(): Promise<void>
}

/** Record the writes to a store. `signal`: stops the checks. */
export function recordWrites(store: BlobStore, signal: AbortSignal | undefined): Recording {
  const written = new Set<string>()
  const running = new Set<Promise<unknown>>()
  const call = (name: string, member: (...args: unknown[]) => unknown, args: unknown[]) => {
    signal?.throwIfAborted()
    const [key, chunks, ...rest] = args as [string, AsyncIterable<Uint8Array>, ...unknown[]]
    if (name.startsWith('put') && isKey(key)) written.add(key)
    // Do not pass the signal on: the server may execute an aborted write after the blob was deleted. But end the source of
    // a stream, which may be large.
    const passed = name === 'putStream' ? [key, eachOrAborted(chunks, signal), ...rest] : args
    return member.apply(store, passed)
  }
  const recorded = new Proxy(store, {
    get(target, property) {
      const name = String(property)
      const member: unknown = Reflect.get(target, property)
      if (typeof member !== 'function') return member
      if (name === 'list') {
        return async function* (...args: Parameters<BlobStore['list']>): AsyncIterable<BlobInfo> {
          signal?.throwIfAborted()
          yield* target.list(...args)
        }
      }
      return async (...args: unknown[]) => {
        const result = Promise.resolve(call(name, member as (...args: unknown[]) => unknown, args))
        running.add(result)
        try {
          return await result
        } finally {
          running.delete(result)
        }
      }
    },
  })
  return {
    store: recorded,
    async deleteAll() {
      await Promise.allSettled(running)
      // Do not list the keys, because the listings of the store may be wrong.
      await inParallel([...written], deletesAtOnce, key => store.delete(key))
    },
  }
}
