/** Stores in memory whose blobs can be filled in place, so that roots on them have tails. */
import { assert } from '../../src/errors.js'
import type { BlobInPlace } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import type { Processes } from '../../src/storage/processes.js'

/** The processes of a machine that was booted as `boot`. */
export function bootedAs(boot: string): Processes {
  return { own: { boot, space: 'space', pid: 1, start: '1' }, livenessOf: () => 'unknown' }
}

/** A disk in memory that loses nothing. */
export class InPlaceStore extends MemoryStore {
  readonly processes = bootedAs('boot')

  openInPlace(key: string): BlobInPlace | null {
    const blob = this.blobs.get(key)
    return blob === undefined ? null : new MemoryInPlace(blob.bytes, blob.number)
  }
}

export class MemoryInPlace implements BlobInPlace {
  readonly size: number
  readonly ino: number
  readonly #bytes: Uint8Array
  #isOpen = true

  constructor(bytes: Uint8Array, ino: number) {
    this.size = bytes.length
    this.ino = ino
    this.#bytes = bytes
  }

  read(offset: number, target: Uint8Array): void {
    assert(this.#isOpen && offset + target.length <= this.size, 'a read beyond the blob')
    target.set(this.#bytes.subarray(offset, offset + target.length))
  }

  write(offset: number, bytes: Uint8Array): void {
    assert(this.#isOpen && offset + bytes.length <= this.size, 'a write beyond the blob')
    this.#bytes.set(bytes, offset)
  }

  async sync(): Promise<void> {}

  close(): void {
    assert(this.#isOpen, 'closed twice')
    this.#isOpen = false
  }
}
