import { MemoryStore } from '../../src/storage/memory-store.js'
import { CountingStore } from './stores.js'

/** A store in memory with the methods of object storage. Counts its calls. */
export class BucketStore extends CountingStore {
  override readonly replace: (key: string, bytes: Uint8Array) => Promise<void>

  constructor(inner = new ReplacingStore()) {
    super(inner)
    delete this.peek
    this.replace = (key, bytes) => this.around('replace', false, () => inner.replace(key, bytes))
  }
}

class ReplacingStore extends MemoryStore {
  async replace(key: string, bytes: Uint8Array): Promise<void> {
    this.blobs.delete(key)
    await this.putIfAbsent(key, bytes)
  }
}
