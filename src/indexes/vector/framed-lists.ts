/**
 * Provides the lists of a segment that is too large to be in memory as a whole. The cache of the root contains single
 * lists, within its budget. A search copies one list after the other into a small arena, the frame, and scans the list
 * there.
 */
import type { Arena } from '../../kernels/arena.js'
import { deferred } from '../../primitives/deferred.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { FramePlaces } from './list-places.js'
import type { ListReader } from './list-reader.js'
import type { ListAddress, Lists, ListView } from './lists.js'
import type { KeepList } from './segment-memory.js'
import type { StoredList } from './stored-list.js'

/** Lists that are cached one by one. */
export class FramedLists implements Lists {
  readonly arena: Arena
  readonly places: FramePlaces
  readonly bytes: number
  readonly #reader: ListReader
  readonly #keep: KeepList

  constructor(arena: Arena, places: FramePlaces, reader: ListReader, keep: KeepList) {
    this.arena = arena
    this.places = places
    this.bytes = arena.buffer.byteLength + reader.bytes
    this.#reader = reader
    this.#keep = keep
  }

  view(): ListView {
    return new FrameView(this)
  }

  /**
   * Return the lists of `partitions`. A cached list is returned directly, any other list as a promise. All partitions
   * must have rows.
   */
  get(partitions: readonly number[]): readonly MaybePromise<StoredList>[] {
    const missing: number[] = []
    const reading = deferred<ReadonlyMap<number, Promise<StoredList>>>()
    const lists = partitions.map(partition =>
      this.#keep(partition, claim => {
        claim(this.#reader.bytesOf(partition))
        missing.push(partition)
        return reading.promise.then(reads => reads.get(partition)!)
      }),
    )
    reading.resolve(this.#read(missing))
    return lists
  }

  #read(partitions: readonly number[]): ReadonlyMap<number, Promise<StoredList>> {
    const reads = new Map<number, Promise<StoredList>>()
    for (const run of this.#reader.runs(partitions)) {
      const read = this.#reader.read(run)
      for (const [i, partition] of run.entries())
        reads.set(
          partition,
          read.then(lists => lists[i]!),
        )
    }
    return reads
  }
}

class FrameView implements ListView {
  readonly #lists: FramedLists
  /** The lists that the last `bring` loaded. */
  #loaded = new Map<number, StoredList>()
  /** Ordinals of the lists that were scanned since the last `partitionsOf`. */
  #scanned = new Map<number, Uint32Array>()
  /** Partitions of the rows that were passed to the last `partitionsOf`. */
  #known = new Map<number, number>()

  constructor(lists: FramedLists) {
    this.#lists = lists
  }

  bring(partitions: Uint32Array): Promise<void> | null {
    const loaded = new Map<number, StoredList>()
    this.#loaded = loaded
    const lists = this.#lists.get(Array.from(partitions))
    const coming: Promise<void>[] = []
    for (const [i, list] of lists.entries()) {
      const put = (stored: StoredList) => void loaded.set(partitions[i]!, stored)
      if (list instanceof Promise) coming.push(list.then(put))
      else put(list)
    }
    return coming.length === 0 ? null : Promise.all(coming).then(() => {})
  }

  ordinals(partition: number): Uint32Array {
    return this.#loaded.get(partition)!.ordinals
  }

  lay(partition: number): ListAddress {
    const { codes, ordinals } = this.#loaded.get(partition)!
    const { arena, places } = this.#lists
    new Uint8Array(arena.buffer, places.codes, codes.length).set(codes)
    new Uint32Array(arena.buffer, places.ordinals, ordinals.length).set(ordinals)
    this.#scanned.set(partition, ordinals)
    return places
  }

  keep(ordinals: Uint32Array): void {
    this.partitionsOf(ordinals)
  }

  /**
   * Return the partitions of the rows that the search keeps. A row that was not passed to the previous call is in a
   * list that was scanned since that call.
   */
  partitionsOf(ordinals: Uint32Array): Uint32Array {
    const fresh = ordinals.filter(ordinal => !this.#known.has(ordinal)).sort()
    for (const [partition, rows] of this.#scanned) {
      let at = 0
      for (let i = 0; i < fresh.length; i++) {
        while (at < rows.length && rows[at]! < fresh[i]!) at++
        if (rows[at] === fresh[i]) this.#known.set(fresh[i]!, partition)
      }
    }
    const known = new Map<number, number>()
    const partitions = new Uint32Array(ordinals.length)
    for (let i = 0; i < ordinals.length; i++) {
      partitions[i] = this.#known.get(ordinals[i]!)!
      known.set(ordinals[i]!, partitions[i]!)
    }
    this.#known = known
    this.#scanned = new Map()
    return partitions
  }
}
