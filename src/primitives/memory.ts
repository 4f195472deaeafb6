/**
 * The cache of an opened root: a scan-resistant segmented LRU with one byte budget. Each type of value has its own
 * partition.
 *
 * - **Loading**: `get` returns a cached value directly, or loads it. While a value is loading, all callers share one
 *   promise. A failed load is not cached. A load can claim its size before it ends. A claim counts against the budget
 *   immediately, so the cache evicts other entries before the load allocates memory.
 * - **Places** are file metadata (manifests, footers, slots) that locate rows. They are small objects on the heap that
 *   every query needs. Data never evicts places. All places together use at most a quarter of the budget, unless a
 *   single entry is larger.
 * - **Data** (columns) is in one of two LRU segments: fresh or proven. New values are fresh. A fresh value becomes
 *   proven if it is used again after more than a quarter of the budget was loaded in other values. Fresh values are evicted
 *   first. Proven values use at most half of the budget.
 * - A **scan** uses each value several times, but loads little other data in between. So the values of a scan stay fresh, and even a long
 *   scan does not evict proven values.
 * - **Passing** reads are large one-time reads. Their values have a small LRU segment of their own, and never evict
 *   proven values.
 * - **Sources**: every entry has a source, for example the blob from which it was read. When the source is deleted, the
 *   cache drops the entry immediately, so that entries of deleted blobs do not use memory.
 */

import type { MaybePromise } from './task.js'

/** Function by which a load reports the bytes of its result before it ends. A later call replaces the earlier value. */
export type Claim = (bytes: number) => void

/** Function that loads a value for the cache. It may call `claim` with the bytes of the value. */
export type Load<V> = (claim: Claim) => Promise<V>

/** Caches values by key. */
export interface Keeper<V> {
  /**
   * Return the cached value, or load and cache it. A value that is larger than the budget is returned, but not cached.
   * `source`: name of the object from which the value is read, for example a blob; default: the key.
   */
  get(key: string, load: Load<V>, source?: string): MaybePromise<V>
}

/** A `Keeper` that can also look up values without loading them, and that has a variant for passing reads. */
export interface PassingKeeper<V> extends Keeper<V> {
  /**
   * Return the cached value. Undefined if the value is not cached. The call counts as a use of the entry. For a passing
   * reader, it counts only if the entry is in the segment of passing reads.
   */
  peek(key: string): V | undefined
  /** Return whether the value is cached. Does not count as a use. */
  has(key: string): boolean
  passing(): PassingKeeper<V>
}

/** Statistics of one partition of the cache. */
export interface PartitionStats {
  /** Number of cached values and of running loads. */
  readonly entries: number
  /** Bytes of the cached values, plus the claims of running loads. */
  readonly bytes: number
  /** Number of calls of `get` and `peek` that found an entry. */
  readonly hits: number
  /** Number of values that were loaded or built. */
  readonly misses: number
}

/** Statistics of the cache of an opened root. */
export interface MemoryStats {
  /** Maximum bytes of all partitions together. Infinity: no limit. */
  readonly budgetBytes: number
  /** Bytes of all partitions together. The sum exceeds the budget only while loads run. */
  readonly bytes: number
  /** Statistics by the name of the partition. */
  readonly partitions: Readonly<Record<string, PartitionStats>>
}

/** Approximate memory of an entry in addition to its value: key, map entry, list links, promise. In bytes. */
const entryBytes = 400

/**
 * If the segment of passing reads has more bytes, its entries are evicted first. If half of the budget is less, that is
 * the limit.
 */
const passingBytes = 192 * 1024 * 1024

/** The cache of an opened root. The comment at the head of this file describes it. */
export class Memory {
  readonly #budget: number
  readonly #partitions = new Map<string, Owner>()
  readonly #places = new LruSegment()
  readonly #fresh = new LruSegment()
  readonly #proven = new LruSegment()
  readonly #passing = new LruSegment()
  /** The newest entry of each source. The older entries of the source are linked to it. */
  readonly #newestOfSource = new Map<string, Entry<unknown>>()
  /** Number of uses of entries so far. It serves as the time of a use. */
  #now = 0
  /** Bytes of data loaded so far. */
  #loadedBytes = 0
  /** Bytes of all entries and claims. */
  #bytes = 0

  /** `budgetBytes`: maximum bytes of all partitions together. Infinity: no limit. */
  constructor(budgetBytes: number) {
    this.#budget = budgetBytes
  }

  /**
   * Create a partition. `sizeOf`: returns the bytes of a value, on the heap and outside of the heap. `onDrop`: called
   * with each loaded value that leaves the cache.
   */
  partition<V>(
    name: string,
    kind: 'places' | 'data',
    sizeOf: (value: V) => number,
    onDrop?: (value: V) => void,
  ): Partition<V> {
    const partition = new Partition<V>(this, kind === 'places', sizeOf, onDrop)
    this.#partitions.set(name, partition)
    return partition
  }

  /** Return whether prefetched data of `bytes` bytes is small enough to be still in the cache when it is used. */
  canHold(bytes: number): boolean {
    return bytes <= this.#budget / 2
  }

  stats(): MemoryStats {
    const partitions = Object.fromEntries(
      [...this.#partitions].map(([name, partition]) => [name, partition.stats()]),
    )
    return { budgetBytes: this.#budget, bytes: this.#bytes, partitions }
  }

  /** Drop all entries of a source that was deleted. */
  gone(source: string): void {
    for (
      let entry = this.#newestOfSource.get(source);
      entry !== undefined;
      entry = this.#newestOfSource.get(source)
    ) {
      this.forget(entry)
    }
  }

  /** Add a new entry. Called by partitions. */
  begin(entry: Entry<unknown>): void {
    const sibling = this.#newestOfSource.get(entry.source)
    if (sibling !== undefined) {
      sibling.after = entry
      entry.before = sibling
    }
    this.#newestOfSource.set(entry.source, entry)
  }

  /** Record a use of an entry. Called by partitions. `inPassing`: whether the reader is a passing reader. */
  use(entry: Entry<unknown>, inPassing: boolean): void {
    const { segment } = entry
    if (segment === null) return
    if (inPassing && segment !== this.#passing) return
    let next = segment
    if (segment === this.#passing && !inPassing) {
      entry.loadedAt = this.#loadedBytes
      next = this.#fresh
    } else if (segment === this.#fresh && this.#loadedBytes - entry.loadedAt > this.#budget / 4) {
      next = this.#proven
    }
    entry.used = ++this.#now
    if (next === segment && segment.newest === entry) return
    segment.remove(entry)
    next.push(entry)
    while (this.#proven.bytes > this.#budget / 2) {
      const least = this.#proven.oldest!
      this.#proven.remove(least)
      least.loadedAt = this.#loadedBytes
      least.used = ++this.#now
      this.#fresh.push(least)
    }
  }

  /**
   * Record the size of an entry that is loading. Called by partitions. An entry that is larger than the budget evicts
   * no other entries.
   */
  claim(entry: Entry<unknown>, bytes: number): void {
    if (entry.isForgotten) return
    this.#resize(entry, bytes > this.#budget ? 0 : bytes)
    this.#trim()
  }

  /** Record that an entry was loaded and has `bytes` bytes. Called by partitions. */
  arrived(entry: Entry<unknown>, bytes: number, inPassing: boolean): void {
    if (entry.isForgotten) return
    const all = bytes + entryBytes
    if (all > this.#budget) {
      this.forget(entry)
      return
    }
    this.#resize(entry, all)
    entry.used = ++this.#now
    if (entry.partition.isPlaces) {
      this.#places.push(entry)
      while (this.#places.bytes > this.#budget / 4 && this.#places.oldest !== entry) {
        this.forget(this.#places.oldest!)
      }
    } else {
      this.#loadedBytes += all
      entry.loadedAt = this.#loadedBytes
      const segment = inPassing ? this.#passing : this.#fresh
      segment.push(entry)
    }
    this.#trim()
  }

  /** Remove an entry. Called by partitions. */
  forget(entry: Entry<unknown>): void {
    if (entry.isForgotten) return
    entry.isForgotten = true
    entry.segment?.remove(entry)
    this.#resize(entry, 0)
    entry.partition.drop(entry)
    const { source, before, after } = entry
    if (before !== null) before.after = after
    if (after !== null) after.before = before
    else if (before !== null) this.#newestOfSource.set(source, before)
    else this.#newestOfSource.delete(source)
  }

  #resize(entry: Entry<unknown>, bytes: number): void {
    const more = bytes - entry.bytes
    entry.bytes = bytes
    entry.partition.bytes += more
    this.#bytes += more
  }

  /**
   * Evict entries until the budget is not exceeded. Proven entries are not evicted for entries that are still loading.
   */
  #trim(): void {
    while (this.#bytes > this.#budget) {
      const isCrowded = this.#places.bytes + this.#proven.bytes > this.#budget
      const victim = this.#nextVictim() ?? (isCrowded ? this.#proven.oldest : null)
      if (victim === null) return
      this.forget(victim)
    }
  }

  /** Return the next entry to evict from the passing or the fresh segment. Null if both are empty. */
  #nextVictim(): Entry<unknown> | null {
    const passing = this.#passing.oldest
    const fresh = this.#fresh.oldest
    if (passing === null || fresh === null) return passing ?? fresh
    if (this.#passing.bytes > Math.min(passingBytes, this.#budget / 2)) return passing
    return passing.used < fresh.used ? passing : fresh
  }
}

/** The entries of one type of value. Created by `Memory.partition`. */
export class Partition<V> implements PassingKeeper<V>, Owner {
  readonly isPlaces: boolean
  /** Bytes of all entries. Set by `Memory`. */
  bytes = 0
  readonly #memory: Memory
  readonly #sizeOf: (value: V) => number
  readonly #onDrop: ((value: V) => void) | undefined
  readonly #entries = new Map<string, Entry<V>>()
  #hits = 0
  #misses = 0

  constructor(
    memory: Memory,
    isPlaces: boolean,
    sizeOf: (value: V) => number,
    onDrop: ((value: V) => void) | undefined,
  ) {
    this.#memory = memory
    this.isPlaces = isPlaces
    this.#sizeOf = sizeOf
    this.#onDrop = onDrop
  }

  get(key: string, load: Load<V>, source = key): MaybePromise<V> {
    return this.#get(key, load, source, false)
  }

  /** Return a `Keeper` of this partition for passing reads: large one-time reads. */
  passing(): PassingKeeper<V> {
    const keeper: PassingKeeper<V> = {
      get: (key, load, source = key) => this.#get(key, load, source, true),
      peek: key => this.#peek(key, true),
      has: key => this.has(key),
      passing: () => keeper,
    }
    return keeper
  }

  peek(key: string): V | undefined {
    return this.#peek(key, false)
  }

  /** Return whether the value is cached. Does not count as a use. */
  has(key: string): boolean {
    return this.#entries.get(key)?.value !== undefined
  }

  /** Cache a value that was built elsewhere, unless the key is cached. */
  keep(key: string, value: V, source = key): void {
    if (this.#entries.has(key)) return
    const entry = new Entry<V>(this, key, source)
    this.#begin(entry)
    this.#complete(entry, value, false)
  }

  stats(): PartitionStats {
    return { entries: this.#entries.size, bytes: this.bytes, hits: this.#hits, misses: this.#misses }
  }

  /** Remove an entry from the map of this partition. Called by `Memory`. */
  drop({ key, value }: Entry<unknown>): void {
    this.#entries.delete(key)
    if (value !== undefined) this.#onDrop?.(value as V)
  }

  #peek(key: string, inPassing: boolean): V | undefined {
    const entry = this.#entries.get(key)
    if (entry?.value === undefined) return undefined
    this.#hits++
    this.#memory.use(entry, inPassing)
    return entry.value
  }

  #get(key: string, load: Load<V>, source: string, inPassing: boolean): MaybePromise<V> {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      this.#hits++
      this.#memory.use(known, inPassing)
      return known.value ?? known.promise
    }
    const entry = new Entry<V>(this, key, source)
    let isOver = false
    const claim: Claim = bytes => {
      if (!isOver) this.#memory.claim(entry, bytes)
    }
    entry.promise = load(claim)
    this.#begin(entry)
    entry.promise.then(
      value => {
        isOver = true
        this.#complete(entry, value, inPassing)
      },
      () => {
        isOver = true
        this.#memory.forget(entry)
      },
    )
    return entry.promise
  }

  #begin(entry: Entry<V>): void {
    this.#misses++
    this.#entries.set(entry.key, entry)
    this.#memory.begin(entry)
  }

  #complete(entry: Entry<V>, value: V, inPassing: boolean): void {
    entry.value = value
    this.#memory.arrived(entry, this.#sizeOf(value), inPassing)
  }
}

/** The members of a partition that `Memory` uses. */
interface Owner {
  readonly isPlaces: boolean
  bytes: number
  drop(entry: Entry<unknown>): void
  stats(): PartitionStats
}

class Entry<V> {
  readonly partition: Owner
  readonly key: string
  readonly source: string
  isForgotten = false
  /** The promise of the load. Set when the load starts. A value that was built elsewhere has none. */
  promise!: Promise<V>
  /** The loaded value. Undefined while it is loading. */
  value: V | undefined = undefined
  /** Bytes of the entry that count against the budget. */
  bytes = 0
  /** The segment of the entry. Null while it is loading. */
  segment: LruSegment | null = null
  older: Entry<unknown> | null = null
  newer: Entry<unknown> | null = null
  /** The previous and next entries of the same source. */
  before: Entry<unknown> | null = null
  after: Entry<unknown> | null = null
  /** Time of the last use: value of `Memory.#now`. */
  used = 0
  /** Value of `Memory.#loadedBytes` when this entry was loaded, or last moved to the fresh segment. */
  loadedAt = 0

  constructor(partition: Owner, key: string, source: string) {
    this.partition = partition
    this.key = key
    this.source = source
  }
}

/** Entries in the order of their last use. */
class LruSegment {
  oldest: Entry<unknown> | null = null
  newest: Entry<unknown> | null = null
  bytes = 0

  push(entry: Entry<unknown>): void {
    entry.segment = this
    entry.older = this.newest
    entry.newer = null
    if (this.newest === null) this.oldest = entry
    else this.newest.newer = entry
    this.newest = entry
    this.bytes += entry.bytes
  }

  remove(entry: Entry<unknown>): void {
    const { older, newer } = entry
    if (older === null) this.oldest = newer
    else older.newer = newer
    if (newer === null) this.newest = older
    else newer.older = older
    entry.segment = null
    this.bytes -= entry.bytes
  }
}
