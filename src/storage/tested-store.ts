/** A store in object storage whose test still runs while a root in it is opened. */
import type { BlobStore } from './blob-store.js'
import { withMethods } from './with-methods.js'

/**
 * Return `store` with writes that wait for `test`. If `test` rejects, they reject with its error. Reads do not wait. `store`
 * must have `replace`, and no methods that only local stores have.
 */
export function afterTest(store: BlobStore, test: Promise<void>): BlobStore {
  const { abortUploads } = store
  // The first write reports the error.
  test.catch(() => {})
  return withMethods(store, {
    put: (...call) => test.then(() => store.put(...call)),
    putStream: (...call) => test.then(() => store.putStream(...call)),
    putIfAbsent: (...call) => test.then(() => store.putIfAbsent(...call)),
    replace: (...call) => test.then(() => store.replace!(...call)),
    delete: (...call) => test.then(() => store.delete(...call)),
    ...(abortUploads !== undefined && {
      abortUploads: (...call) => test.then(() => abortUploads.apply(store, call)),
    }),
  })
}
