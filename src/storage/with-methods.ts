import type { BlobStore } from './blob-store.js'

/** Return `store` with some other methods. `store` must have `replace`, and no methods that only local stores have. */
export function withMethods(store: BlobStore, methods: Partial<BlobStore>): BlobStore {
  const { abortUploads, meter } = store
  return {
    name: store.name,
    get: (...call) => store.get(...call),
    getRange: (...call) => store.getRange(...call),
    readInto: (...call) => store.readInto(...call),
    readRanges: (...call) => store.readRanges(...call),
    put: (...call) => store.put(...call),
    putStream: (...call) => store.putStream(...call),
    putIfAbsent: (...call) => store.putIfAbsent(...call),
    replace: (...call) => store.replace!(...call),
    stat: (...call) => store.stat(...call),
    list: (...call) => store.list(...call),
    delete: (...call) => store.delete(...call),
    ...(abortUploads !== undefined && { abortUploads: (...call) => abortUploads.apply(store, call) }),
    ...(meter !== undefined && { meter }),
    ...methods,
  }
}
