/**
 * A disk that loses what nobody synced when the power fails: names of files, deletions of names, and bytes that were written
 * in place, each on its own. Processes use it through `open`; each call takes a moment before and after its effect, so
 * that calls of several processes meet in every order.
 */
import type { BlobInfo, BlobInPlace, BlobMark, BlobStore, ByteRange } from '../../src/storage/blob-store.js'
import { ioError } from '../../src/storage/io-error.js'
import { MemoryStore, type StoredBlob } from '../../src/storage/memory-store.js'
import type { Processes } from '../../src/storage/processes.js'
import type { SeededClock } from './clock.js'
import { bootedAs } from './in-place-store.js'

interface Write {
  readonly offset: number
  readonly bytes: Uint8Array
}

/** A file that is filled in place. The bytes in the store are those that every process reads. */
interface Filled {
  /** The bytes that survive a power loss. */
  readonly durable: Uint8Array
  /** Written since the last sync. */
  dirty: Write[]
}

interface NameChange {
  readonly key: string
  /** The file that had the name; null if none had. */
  readonly before: StoredBlob | null
}

export class PowerDisk extends MemoryStore {
  readonly clock: SeededClock
  /** How often a sync of bytes in place fails, 0 to 1. The bytes then look written, and no later sync writes them. */
  syncFails = 0
  #boots = 1
  /** Changes of names that are not on the disk. */
  #changes: NameChange[] = []
  readonly #filled = new Map<number, Filled>()
  readonly #forgotten = new Set<string>()
  readonly #open = new Set<PowerProcess>()

  constructor(clock: SeededClock) {
    super('memory://', clock)
    this.clock = clock
  }

  get boot(): string {
    return `boot ${this.#boots}`
  }

  /** Return the disk as a new process sees it. */
  open(): PowerProcess {
    const opened = new PowerProcess(this)
    this.#open.add(opened)
    return opened
  }

  /** End every process, and lose what is not durable. */
  fail(): void {
    for (const opened of this.#open) opened.kill()
    this.#open.clear()
    const { clock } = this
    for (const { key, before } of this.#changes.reverse()) {
      if (clock.random() < 0.5) continue
      if (before === null) this.blobs.delete(key)
      else this.blobs.set(key, before)
    }
    this.#changes = []
    for (const blob of this.blobs.values()) {
      const filled = this.#filled.get(blob.number)
      if (filled === undefined) continue
      blob.bytes.set(filled.durable)
      for (const { offset, bytes } of filled.dirty) {
        const luck = clock.random()
        // A sector holds 512 bytes, and is written whole.
        const kept = luck < 0.4 ? 0 : luck < 0.8 ? bytes.length : 512 - (offset % 512)
        blob.bytes.set(bytes.subarray(0, kept), offset)
      }
      filled.durable.set(blob.bytes)
      filled.dirty = []
    }
    this.#boots++
  }

  noteName(key: string, before: StoredBlob | null): void {
    this.#changes.push({ key, before })
  }

  keepNames(prefix: string): void {
    this.#changes = this.#changes.filter(({ key }) => !key.startsWith(prefix) || this.#forgotten.has(key))
  }

  /** From now on, no sync makes the name durable. */
  forget(key: string): void {
    this.#forgotten.add(key)
  }

  find(key: string): StoredBlob | null {
    return this.blobs.get(key) ?? null
  }

  inPlace(key: string, owner: PowerProcess): BlobInPlace | null {
    const blob = this.blobs.get(key)
    if (blob === undefined) return null
    const filled = this.#filled.get(blob.number) ?? { durable: blob.bytes.slice(), dirty: [] }
    this.#filled.set(blob.number, filled)
    const { bytes } = blob
    return {
      size: bytes.length,
      ino: blob.number,
      read: (offset, target) => target.set(bytes.subarray(offset, offset + target.length)),
      write: (offset, written) => {
        if (!owner.isAlive) return
        bytes.set(written, offset)
        filled.dirty.push({ offset, bytes: written.slice() })
      },
      sync: async () => {
        await owner.moment()
        const { dirty } = filled
        filled.dirty = []
        if (this.clock.random() < this.syncFails) {
          throw ioError(Object.assign(new Error('EIO'), { code: 'EIO' }), 'sync', key)
        }
        for (const { offset, bytes } of dirty) filled.durable.set(bytes, offset)
        await owner.moment()
      },
      close: () => {},
    }
  }
}

/** The disk as one process sees it. */
export class PowerProcess implements BlobStore {
  readonly name = 'disk'
  readonly processes: Processes
  readonly #disk: PowerDisk
  #isAlive = true
  #resumed: Promise<void> = Promise.resolve()

  constructor(disk: PowerDisk) {
    this.#disk = disk
    this.processes = bootedAs(disk.boot)
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** From now on no call ends. */
  kill(): void {
    this.#isAlive = false
  }

  /** No call goes on for some time. */
  pause(ms: number): void {
    this.#resumed = this.#disk.clock.sleep(ms)
  }

  /** Let others run. Never ends if the process has died. */
  async moment(): Promise<void> {
    await this.#disk.clock.yield()
    await this.#resumed
    if (!this.#isAlive) await new Promise(() => {})
  }

  async #around<T>(run: () => T): Promise<Awaited<T>> {
    await this.moment()
    const result = await run()
    await this.moment()
    return result
  }

  get(key: string): Promise<Uint8Array | null> {
    return this.#around(() => this.#disk.get(key))
  }

  getRange(key: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#around(() => this.#disk.getRange(key, offset, length))
  }

  readInto(key: string, offset: number, target: Uint8Array): Promise<void> {
    return this.#around(() => this.#disk.readInto(key, offset, target))
  }

  async readRanges(key: string, ranges: readonly ByteRange[]): Promise<void> {
    await this.#around(() => this.#disk.readRanges(key, ranges))
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.putIfAbsent(key, bytes)
  }

  async putStream(): Promise<void> {
    throw new Error('not used')
  }

  async putIfAbsent(key: string, bytes: Uint8Array): Promise<'won' | 'taken'> {
    await this.moment()
    if (this.#disk.peek(key) !== null) return 'taken'
    const outcome = await this.#disk.putIfAbsent(key, bytes)
    this.#disk.noteName(key, null)
    await this.moment()
    this.#disk.keepNames(key.slice(0, key.lastIndexOf('/') + 1))
    return outcome
  }

  stat(key: string): Promise<BlobInfo | null> {
    return this.#around(() => this.#disk.stat(key))
  }

  async *list(prefix: string, startAfter?: string): AsyncIterable<BlobInfo> {
    await this.moment()
    yield* this.#disk.list(prefix, startAfter)
  }

  async delete(key: string): Promise<void> {
    await this.moment()
    const before = this.#disk.find(key)
    if (before === null) return
    await this.#disk.delete(key)
    this.#disk.noteName(key, before)
    await this.moment()
  }

  peek(key: string): BlobMark | null {
    return this.#disk.peek(key)
  }

  async sync(prefix: string): Promise<void> {
    await this.#around(() => this.#disk.keepNames(prefix))
  }

  openInPlace(key: string): BlobInPlace | null {
    return this.#disk.inPlace(key, this)
  }
}
