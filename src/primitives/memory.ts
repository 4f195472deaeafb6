/**
 * What a root keeps in memory to save reading it again: everything under one budget of bytes, each sort of thing in a partition
 * of its own.
 *
 * - A value that has come is given at once. Until then there is a promise of it, so that callers who want the same thing at the
 *   same moment share one load; a load that fails is forgotten. What a load has said it will need counts from then on, so partition is made before memory is taken.
 * - **Places** (what says where rows are: layouts, footers, slots) are small, and every query needs some. Data never pushes
 *   them out; they take no more than a quarter of the budget, unless a single one does: they are objects on the heap.
 * - **Data** (columns) leaves the least recently used first, with one exception. What was asked for again when a quarter
 *   of the budget had been loaded since it came has proved itself: it leaves last, as long as all of its like take no more
 *   than half of the budget. A scan asks for each thing several times, but within a few loads, so it proves nothing, and
 *   however long it is, it takes only the other half.
 * - What is read in **passing** takes no more than who reads it may be looking at, and never what has proved itself.
 * - Every entry has a **source**: the blob it was read from, or what else it is made of. When that is gone nobody will ask for
 *   the entry again, so it leaves at once, and what is kept does not grow with what ever was.
 */

import type { MaybePromise } from './task.js'

/** Says how many bytes a load will take, as soon as that is known. A later word takes the place of an earlier one. */
export type Claim = (bytes: number) => void

export type Load<V> = (claim: Claim) => Promise<V>

export interface Keeper<V> {
  /**
   * The kept value, or what `load` gives. What is larger than all there is partition for is handed out, not kept. `source`: what the
   * value is read from, where that is not the key.
   */
  get(key: string, load: Load<V>, source?: string): MaybePromise<V>
}

export interface PassingKeeper<V> extends Keeper<V> {
  /** What is there now; a use of it, but for who passes by something that others have asked for. */
  peek(key: string): V | undefined
  /** Whether it is there now; no use of it. */
  has(key: string): boolean
  passing(): PassingKeeper<V>
}

export interface PartitionStats {
  readonly entries: number
  /** Loads under way included, as far as they have said what they will take. */
  readonly bytes: number
  /** How often something was found. */
  readonly hits: number
  /** How often it had to be loaded or made. */
  readonly misses: number
}

export interface MemoryStats {
  readonly budgetBytes: number
  /** The sum over all partitions. More than the budget only while loads are under way. */
  readonly bytes: number
  readonly partitions: Readonly<Record<string, PartitionStats>>
}

/** About what an entry takes beside its value: its key, its place in the map and in the order, its promise. */
const entryBytes = 400

/** What somebody who reads in passing may be looking at: two batches of a table. Of a small budget it is half. */
const passingBytes = 192 * 1024 * 1024

export class Memory {
  readonly #budget: number
  readonly #partitions = new Map<string, Owner>()
  readonly #places = new LruSegment()
  readonly #fresh = new LruSegment()
  readonly #proven = new LruSegment()
  readonly #passing = new LruSegment()
  /** The entry that came last of each source; the others hang on it. */
  readonly #ofSource = new Map<string, Entry<unknown>>()
  /** Counts uses. */
  #now = 0
  /** Bytes of data that ever came. */
  #came = 0
  /** Of everything kept and claimed. */
  #bytes = 0

  /** `budgetBytes`: what all partitions together may hold; infinity for no end. */
  constructor(budgetBytes: number) {
    this.#budget = budgetBytes
  }

  /** A new partition. `sizeOf`: the bytes a value takes, wherever it lies. `onDrop`: told of each value that came and leaves. */
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

  /** Whether data of so many bytes, fetched before it is asked for, will still be there then. */
  canHold(bytes: number): boolean {
    return bytes <= this.#budget / 2
  }

  stats(): MemoryStats {
    const partitions = Object.fromEntries(
      [...this.#partitions].map(([name, partition]) => [name, partition.stats()]),
    )
    return { budgetBytes: this.#budget, bytes: this.#bytes, partitions }
  }

  /** Lets go of all that was read from a source, which is there no more. */
  gone(source: string): void {
    for (let entry = this.#ofSource.get(source); entry !== undefined; entry = this.#ofSource.get(source)) {
      this.forget(entry)
    }
  }

  /** For partitions: an entry that was not there begins. */
  begin(entry: Entry<unknown>): void {
    const sibling = this.#ofSource.get(entry.source)
    if (sibling !== undefined) {
      sibling.after = entry
      entry.before = sibling
    }
    this.#ofSource.set(entry.source, entry)
  }

  /** For partitions: an entry was asked for. */
  use(entry: Entry<unknown>, inPassing: boolean): void {
    const { segment } = entry
    if (segment === null) return
    if (inPassing && segment !== this.#passing) return
    let next = segment
    if (segment === this.#passing && !inPassing) {
      entry.came = this.#came
      next = this.#fresh
    } else if (segment === this.#fresh && this.#came - entry.came > this.#budget / 4) {
      next = this.#proven
    }
    entry.used = ++this.#now
    if (next === segment && segment.newest === entry) return
    segment.remove(entry)
    next.push(entry)
    while (this.#proven.bytes > this.#budget / 2) {
      const least = this.#proven.oldest!
      this.#proven.remove(least)
      least.came = this.#came
      least.used = ++this.#now
      this.#fresh.push(least)
    }
  }

  /** For partitions: an entry that is on its way takes `bytes`. Where it could not stay it displaces nothing. */
  claim(entry: Entry<unknown>, bytes: number): void {
    if (entry.isForgotten) return
    this.#resize(entry, bytes > this.#budget ? 0 : bytes)
    this.#trim()
  }

  /** For partitions: an entry has come, and takes `bytes`. */
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
      this.#came += all
      entry.came = this.#came
      const segment = inPassing ? this.#passing : this.#fresh
      segment.push(entry)
    }
    this.#trim()
  }

  /** For partitions: an entry goes. */
  forget(entry: Entry<unknown>): void {
    if (entry.isForgotten) return
    entry.isForgotten = true
    entry.segment?.remove(entry)
    this.#resize(entry, 0)
    entry.partition.drop(entry)
    const { source, before, after } = entry
    if (before !== null) before.after = after
    if (after !== null) after.before = before
    else if (before !== null) this.#ofSource.set(source, before)
    else this.#ofSource.delete(source)
  }

  #resize(entry: Entry<unknown>, bytes: number): void {
    const more = bytes - entry.bytes
    entry.bytes = bytes
    entry.partition.bytes += more
    this.#bytes += more
  }

  /** Lets go of what is too much. What has proved itself never yields to what is only on its way. */
  #trim(): void {
    while (this.#bytes > this.#budget) {
      const isCrowded = this.#places.bytes + this.#proven.bytes > this.#budget
      const victim = this.#unproven() ?? (isCrowded ? this.#proven.oldest : null)
      if (victim === null) return
      this.forget(victim)
    }
  }

  /** What goes next of the data that has come and not proved itself. */
  #unproven(): Entry<unknown> | null {
    const passing = this.#passing.oldest
    const fresh = this.#fresh.oldest
    if (passing === null || fresh === null) return passing ?? fresh
    if (this.#passing.bytes > Math.min(passingBytes, this.#budget / 2)) return passing
    return passing.used < fresh.used ? passing : fresh
  }
}

/** One sort of thing. Made by `Memory.partition`. */
export class Partition<V> implements PassingKeeper<V>, Owner {
  readonly isPlaces: boolean
  /** For the memory. */
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

  /** The same partition for who reads much once. */
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

  /** Whether it is there now; no use of it. */
  has(key: string): boolean {
    return this.#entries.get(key)?.value !== undefined
  }

  /** Keeps what was made elsewhere, unless it is there. */
  keep(key: string, value: V, source = key): void {
    if (this.#entries.has(key)) return
    const entry = new Entry<V>(this, key, source)
    entry.promise = Promise.resolve(value)
    this.#begin(entry)
    this.#settle(entry, value, false)
  }

  stats(): PartitionStats {
    return { entries: this.#entries.size, bytes: this.bytes, hits: this.#hits, misses: this.#misses }
  }

  /** For the memory. */
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
        this.#settle(entry, value, inPassing)
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

  #settle(entry: Entry<V>, value: V, inPassing: boolean): void {
    entry.value = value
    this.#memory.arrived(entry, this.#sizeOf(value), inPassing)
  }
}

/** What the memory knows of a partition. */
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
  /** There as soon as a load has begun. */
  promise!: Promise<V>
  /** Undefined until it has come. */
  value: V | undefined = undefined
  /** What it is counted with. */
  bytes = 0
  /** Null until it has come. */
  segment: LruSegment | null = null
  older: Entry<unknown> | null = null
  newer: Entry<unknown> | null = null
  /** Those of the same source that came before and after it. */
  before: Entry<unknown> | null = null
  after: Entry<unknown> | null = null
  /** When it was last asked for. */
  used = 0
  /** How much data had come when it came. */
  came = 0

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
