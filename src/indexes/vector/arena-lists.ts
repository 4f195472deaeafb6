/**
 * Provides the lists of a segment that fits into memory. All lists are in one arena, each at a fixed address. A list is
 * read from the file when a search needs it for the first time.
 */
import type { Arena } from '../../kernels/arena.js'
import { Pacer } from '../../primitives/pacer.js'
import { type ListPlaces, mapPartition } from './list-places.js'
import type { ListReader } from './list-reader.js'
import type { ListAddress, Lists, ListView } from './lists.js'
import type { StoredList } from './stored-list.js'

/** Number of bytes copied per step. Copying them takes less than a millisecond. */
const stepBytes = 4 * 1024 * 1024

/** The lists of a segment. The object is also the view of every search, because all searches use the same arena. */
export class ArenaLists implements Lists, ListView {
  readonly arena: Arena
  readonly places: ListPlaces
  readonly bytes: number
  readonly #counts: Uint32Array
  readonly #reader: ListReader | null
  /**
   * By partition: 1 after the whole list of the partition is in the arena. All threads that share the arena read these
   * numbers.
   */
  readonly #isLoaded: Int32Array
  readonly #partitionOf: Uint32Array
  /** The running reads of this thread, by partition. */
  readonly #reads = new Map<number, Promise<void>>()

  /**
   * `reader`: reads the lists from a file. Null: the arena already contains all lists and the map from rows to
   * partitions.
   */
  constructor(
    arena: Arena,
    places: ListPlaces,
    counts: Uint32Array,
    rows: number,
    reader: ListReader | null,
  ) {
    this.arena = arena
    this.places = places
    this.bytes = arena.buffer.byteLength + (reader?.bytes ?? 0)
    this.#counts = counts
    this.#reader = reader
    this.#isLoaded = new Int32Array(arena.buffer, places.isThere, counts.length)
    this.#partitionOf = new Uint32Array(arena.buffer, places.partitionOf, rows)
  }

  view(): ListView {
    return this
  }

  bring(partitions: Uint32Array): Promise<void> | null {
    const reader = this.#reader
    if (reader === null) return null
    const missing: number[] = []
    for (let i = 0; i < partitions.length; i++)
      if (this.#isMissing(partitions[i]!)) missing.push(partitions[i]!)
    if (missing.length === 0) return null
    const wanted = reader.isSmall ? Array.from(this.#counts.keys()).filter(p => this.#isMissing(p)) : missing
    for (const run of reader.runs(wanted.filter(p => !this.#reads.has(p)))) {
      const reading = this.#fill(reader, run)
      for (const p of run) this.#reads.set(p, reading)
      const end = () => {
        for (const p of run) this.#reads.delete(p)
      }
      reading.then(end, end)
    }
    return Promise.all(missing.map(p => this.#reads.get(p))).then(() => {})
  }

  #isMissing(partition: number): boolean {
    return this.#counts[partition]! > 0 && Atomics.load(this.#isLoaded, partition) === 0
  }

  async #fill(reader: ListReader, run: readonly number[]): Promise<void> {
    const lists = await reader.read(run)
    const pacer = new Pacer()
    for (const [i, p] of run.entries()) {
      // Skip lists that another thread has already written. If another thread writes the list now, it writes the same
      // bytes.
      if (this.#isMissing(p)) await this.#put(p, lists[i]!, pacer)
    }
  }

  async #put(partition: number, { codes, ordinals }: StoredList, pacer: Pacer): Promise<void> {
    const { buffer } = this.arena
    const { codes: at } = this.lay(partition)
    for (let from = 0; from < codes.length; from += stepBytes) {
      const step = codes.subarray(from, from + stepBytes)
      new Uint8Array(buffer, at + from, step.length).set(step)
      await pacer.turn()
    }
    this.ordinals(partition).set(ordinals)
    await mapPartition(this.#partitionOf, partition, ordinals, pacer)
    Atomics.store(this.#isLoaded, partition, 1)
  }

  ordinals(partition: number): Uint32Array {
    return new Uint32Array(this.arena.buffer, this.lay(partition).ordinals, this.#counts[partition]!)
  }

  lay(partition: number): ListAddress {
    const { lists, listAt, ordinals, rowAt } = this.places
    return { codes: lists + listAt[partition]!, ordinals: ordinals + 4 * rowAt[partition]! }
  }

  keep(): void {}

  partitionsOf(ordinals: Uint32Array): Uint32Array {
    const partitions = new Uint32Array(ordinals.length)
    for (let i = 0; i < ordinals.length; i++) partitions[i] = this.#partitionOf[ordinals[i]!]!
    return partitions
  }
}
