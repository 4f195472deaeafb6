/**
 * The graph kernel in plain TypeScript. It is the reference implementation of `wasm/graph.ts`, function by function: it
 * writes the same bytes to the same memory. Tests compare the kernel with it. Hosts without WebAssembly SIMD use it.
 *
 * Keys are read as float64, because JavaScript has no fast 64-bit integers. The upper half of a key is a float32 that
 * is not negative. For such keys, the order of the float64 values is the order of the bits.
 */
import {
  endOfCount,
  type GraphPlaces,
  type GraphShape,
  gatheredTogether,
  type Scratch,
  Word,
} from './graph-shape.js'

/** Bit of a list's head: the node has twins. See `graph-shape.ts`. */
const hasTwins = 0x80000000
const noRow = 0xffffffff
/** The numbers of `SETTLED`, `EMPTIED` and `SPENT` in `wasm/graph.ts`. */
const [settled, emptied, spent] = [0, 1, 2]
/** Equals `PASSING_SHIFT` of `wasm/graph.ts`. */
const passingShift = 2

const keyWords = new Uint32Array(2)
const keyDistance = new Float32Array(keyWords.buffer)
const keyNumber = new Float64Array(keyWords.buffer)

function keyOf(distance: number, row: number): number {
  keyWords[0] = row << 1
  keyDistance[1] = distance
  return keyNumber[0]!
}

function rowOf(key: number): number {
  keyNumber[0] = key
  return keyWords[0]! >>> 1
}

function distanceOf(key: number): number {
  keyNumber[0] = key
  return keyDistance[1]!
}

function isExpanded(key: number): boolean {
  keyNumber[0] = key
  return (keyWords[0]! & 1) === 1
}

function expanded(key: number): number {
  keyNumber[0] = key
  keyWords[0]! |= 1
  return keyNumber[0]!
}

/**
 * Insert `key` into the ascending keys before `hole`. The key at `hole` is overwritten. Returns the position of `key`.
 */
function rise(keys: Float64Array, hole: number, key: number): number {
  let at = hole
  for (; at > 0 && keys[at - 1]! > key; at--) keys[at] = keys[at - 1]!
  keys[at] = key
  return at
}

/** Partial sums. Stores into this array round to float32. */
const lanes = new Float32Array(16)

/**
 * Implements `GraphKernel` with plain loops. The comments are at the functions of the same names in `wasm/graph.ts`.
 */
export class PlainGraph {
  readonly #shape: GraphShape
  readonly #bytes: Uint8Array
  readonly #marks: Uint16Array
  readonly #words: Uint32Array
  readonly #floats: Float32Array
  readonly #vectors: number
  readonly #links: number
  readonly #upperLinks: number
  readonly #upperStarts: number
  readonly #allowed: number
  readonly #allowedNodes: number
  readonly #block: number
  /** Keys of the nearest rows so far, ascending. */
  readonly #kept: Float64Array
  /** Number of keys in `#kept`. */
  #keptEnd = 0
  /** Min-heap of the keys that a walk has not expanded yet (`frontier` in the kernel). */
  readonly #waiting: Float64Array
  /** Number of keys in `#waiting`. */
  #waitingEnd = 0
  readonly #choices: Float64Array
  readonly #nearby: Uint32Array
  readonly #spare: Uint32Array
  readonly #changes: Uint32Array
  /** Index of the oldest change in `#changes`. */
  #oldest = 0

  #epoch = 0
  #measured = 0
  #entryRow = 0
  #entryLevel = 0
  #ef = 0
  #filtered = false
  #factor = 0
  #more = 0
  #watched = 0
  #late = 0
  #least = 0
  #most = 0
  #ended = settled
  #measuredBefore = 0
  #next = 0
  #worst = Infinity
  #nearest = 0
  #nearestDistance = 0

  constructor(buffer: ArrayBufferLike, shape: GraphShape, places: GraphPlaces, scratch: Scratch) {
    this.#shape = shape
    this.#bytes = new Uint8Array(buffer)
    this.#marks = new Uint16Array(buffer, scratch.visited, shape.rows)
    const words = Math.floor(buffer.byteLength / 4)
    this.#words = new Uint32Array(buffer, 0, words)
    this.#floats = new Float32Array(buffer, 0, words)
    this.#vectors = places.vectors
    this.#links = places.links / 4
    this.#upperLinks = places.upperLinks / 4
    this.#upperStarts = places.upperStarts / 4
    this.#allowed = scratch.allowed / 4
    this.#allowedNodes = scratch.allowedNodes / 4
    this.#block = scratch.block / 4
    const edges = 2 * shape.m + 1
    this.#kept = new Float64Array(buffer, scratch.kept, shape.efMax)
    this.#waiting = new Float64Array(buffer, scratch.frontier, scratch.frontierMax)
    this.#choices = new Float64Array(buffer, scratch.choices, edges)
    this.#nearby = new Uint32Array(buffer, scratch.nearby, edges + gatheredTogether)
    this.#spare = new Uint32Array(buffer, scratch.spare, Math.max(edges, shape.efMax))
    this.#changes = new Uint32Array(buffer, scratch.changes, shape.efMax + 1)
  }

  graphInsert(_block: number, list: number, count: number, width: number): void {
    const words = this.#words
    this.#ef = width
    this.#filtered = false
    this.#entryRow = words[this.#block + Word.entryRow]!
    this.#entryLevel = words[this.#block + Word.entryLevel]! | 0
    for (let i = 0; i < count; i++) this.#insertRow(words[list / 4 + i]!)
    words[this.#block + Word.entryRow] = this.#entryRow
    words[this.#block + Word.entryLevel] = this.#entryLevel
  }

  graphOpen(_block: number, width: number, some: boolean): void {
    this.#ef = width
    this.#filtered = some
    const words = this.#words
    this.#factor = this.#floats[this.#block + Word.factor]!
    this.#more = words[this.#block + Word.more]!
    this.#watched = words[this.#block + Word.watched]!
    this.#late = words[this.#block + Word.late]!
    this.#least = words[this.#block + Word.least]!
    this.#most = words[this.#block + Word.most]!
    this.#measured = 0
    this.#waitingEnd = 0
    this.#oldest = 0
    this.#ended = settled
    this.#openLevel()
  }

  graphEnter(query: number, row: number, level: number): void {
    this.#begin(query, row)
    this.#descend(query, level, 0)
    if (this.#visit(this.#nearest)) this.#offer(keyOf(this.#nearestDistance, this.#nearest))
  }

  graphSeed(query: number, list: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const row = this.#words[list / 4 + i]!
      if (!this.#visit(row)) continue
      this.#measured++
      this.#offer(this.#keyFrom(query, row))
    }
  }

  graphClose(_block: number, query: number, k: number, outRows: number, outDistances: number): number {
    if (this.#expandsKept()) this.#search(query, 0)
    else this.#wander(query)
    this.#words[this.#block + Word.measured] = this.#measured
    this.#words[this.#block + Word.ended] = this.#ended
    return this.#report(k, outRows / 4, outDistances / 4)
  }

  #insertRow(row: number): void {
    const { m, levels } = this.#shape
    const level = levels[row]!
    for (let l = level; l >= 0; l--) this.#clearList(this.#listOf(row, l), l)
    if (this.#entryRow === noRow) {
      this.#entryRow = row
      this.#entryLevel = level
      return
    }
    const query = this.#vectorOf(row)
    this.#begin(query, this.#entryRow)
    this.#descend(query, this.#entryLevel, level)
    const top = Math.min(level, this.#entryLevel)
    for (let l = top; l >= 0 && this.#nearestDistance !== 0; l--) {
      this.#openLevel()
      this.#visit(this.#nearest)
      this.#keep(keyOf(this.#nearestDistance, this.#nearest))
      this.#search(query, l)
      const key = this.#kept[0]!
      this.#nearest = rowOf(key)
      this.#nearestDistance = distanceOf(key)
      if (this.#nearestDistance !== 0) this.#choose(this.#kept, this.#keptEnd, this.#listOf(row, l), 0, m)
    }
    if (this.#nearestDistance === 0) {
      for (let l = level; l >= 0; l--) this.#clearList(this.#listOf(row, l), l)
      this.#join(row, this.#nearest)
      return
    }
    for (let l = top; l >= 0; l--) {
      const list = this.#listOf(row, l)
      const count = this.#words[list]!
      for (let i = 1; i <= count; i++) this.#link(this.#words[list + i]!, row, l)
    }
    if (level > this.#entryLevel) {
      this.#entryRow = row
      this.#entryLevel = level
    }
  }

  #link(from: number, row: number, level: number): void {
    const words = this.#words
    const list = this.#listOf(from, level)
    const head = words[list]!
    const count = head & endOfCount
    const maxEdges = level === 0 ? 2 * this.#shape.m : this.#shape.m
    if (count < maxEdges) {
      words[list] = head + 1
      words[list + 1 + count] = row
    } else {
      const first = head >>> 31
      const end = this.#gather(from, list, first, count)
      rise(this.#choices, end, keyOf(this.#between(this.#vectorOf(from), this.#vectorOf(row)), row))
      this.#choose(this.#choices, end + 1, list, first, maxEdges)
    }
  }

  #join(row: number, first: number): void {
    const words = this.#words
    const own = this.#listOf(row, 0)
    words[own + 1] = row
    const list = this.#listOf(first, 0)
    const head = words[list]!
    if (head & hasTwins) {
      const twin = this.#listOf(words[list + 1]!, 0)
      words[this.#listOf(words[twin + 2]!, 0) + 1] = row
      words[twin + 2] = row
      return
    }
    const count = head & endOfCount
    if (count === 2 * this.#shape.m) {
      this.#choose(this.#choices, this.#gather(first, list, 0, count), list, 1, count)
    } else {
      words[list + 1 + count] = words[list + 1]!
      words[list] = count + 1
    }
    words[list]! |= hasTwins
    words[list + 1] = row
    words[own + 2] = row
  }

  #gather(from: number, list: number, first: number, count: number): number {
    const vector = this.#vectorOf(from)
    let end = 0
    for (let i = first; i < count; i++) {
      const row = this.#words[list + 1 + i]!
      rise(this.#choices, end, keyOf(this.#between(vector, this.#vectorOf(row)), row))
      end++
    }
    return end
  }

  #choose(from: Float64Array, end: number, list: number, first: number, maxEdges: number): void {
    const words = this.#words
    const begin = list + 1 + first
    const stop = list + 1 + maxEdges
    let to = begin
    let over = 0
    for (let i = 0; i < end && to < stop; i++) {
      const row = rowOf(from[i]!)
      if (this.#isApart(row, distanceOf(from[i]!), begin, to)) words[to++] = row
      else this.#spare[over++] = row
    }
    for (let i = 0; i < over && to < stop; i++) words[to++] = this.#spare[i]!
    words[list] = (words[list]! & hasTwins) | (to - list - 1)
    words.fill(0, to, stop)
  }

  #isApart(row: number, distance: number, begin: number, end: number): boolean {
    const vector = this.#vectorOf(row)
    for (let at = begin; at < end; at++)
      if (this.#between(vector, this.#vectorOf(this.#words[at]!)) < distance) return false
    return true
  }

  #begin(query: number, row: number): void {
    this.#nearest = row
    this.#nearestDistance = this.#between(query, this.#vectorOf(row))
    this.#measured++
  }

  #descend(query: number, from: number, to: number): void {
    for (let level = from; level > to; level--) {
      for (let before = noRow; before !== this.#nearest; ) {
        before = this.#nearest
        const list = this.#listOf(before, level)
        const count = this.#words[list]!
        for (let i = 1; i <= count; i++) {
          const row = this.#words[list + i]!
          const distance = this.#between(query, this.#vectorOf(row))
          if (distance < this.#nearestDistance) {
            this.#nearest = row
            this.#nearestDistance = distance
          }
        }
        this.#measured += count
      }
    }
  }

  #openLevel(): void {
    if (++this.#epoch > 0xffff) {
      this.#marks.fill(0)
      this.#epoch = 1
    }
    this.#keptEnd = 0
    this.#next = 0
    this.#worst = Infinity
  }

  #search(query: number, level: number): void {
    while (this.#next < this.#keptEnd) {
      const key = this.#kept[this.#next]!
      if (isExpanded(key)) {
        this.#next++
        continue
      }
      this.#kept[this.#next++] = expanded(key)
      const end = this.#lookAround(rowOf(key), level)
      for (let i = 0; i < end; i++) {
        const found = this.#keyFrom(query, this.#nearby[i]!)
        if (found < this.#worst) this.#keep(found)
      }
    }
  }

  #expandsKept(): boolean {
    return !this.#filtered && this.#factor === 0
  }

  #wander(query: number): void {
    this.#measuredBefore = this.#measured
    this.#oldest = 0
    this.#changes.fill(this.#measured, 0, this.#late + 1)
    this.#ended = emptied
    while (this.#waitingEnd > 0) {
      if (this.#factor === 0 ? this.#waiting[0]! > this.#worst : this.#isSettled()) {
        this.#ended = settled
        return
      }
      if (this.#factor > 0 && Math.max(this.#measured - this.#measuredBefore, this.#goal()) >= this.#most) {
        this.#ended = spent
        return
      }
      const row = rowOf(this.#popWaiting())
      if (this.#filtered) this.#lookThrough(query, row)
      else this.#offerNearby(query, this.#lookAround(row, 0))
    }
    if (this.#factor > 0 && this.#isSettled()) this.#ended = settled
  }

  #isSettled(): boolean {
    if (this.#keptEnd < this.#least) return false
    if (this.#waitingEnd > 0 && this.#waiting[0]! < this.#kept[this.#least - 1]!) return false
    return this.#measured - this.#measuredBefore >= this.#goal()
  }

  #goal(): number {
    return this.#factor * (this.#changes[this.#oldest]! - this.#measuredBefore) + this.#more
  }

  #lookThrough(query: number, row: number): void {
    const nearby = this.#nearby
    const spare = this.#spare
    const list = this.#listOf(row, 0)
    const head = this.#words[list]!
    let end = 0
    let excluded = 0
    for (let i = head >>> 31; i < (head & endOfCount); i++) {
      const to = this.#words[list + 1 + i]!
      if (this.#isAllowedNode(to)) nearby[end++] = to
      else spare[excluded++] = to
    }
    const passing = end
    if (passing << passingShift >= passing + excluded) {
      this.#offerNearby(query, this.#lookAround(row, 0))
      return
    }
    end = this.#unvisited(nearby, end)
    if (passing < Math.max(this.#shape.m >> 1, 1)) {
      excluded = this.#unvisited(spare, excluded)
      for (let i = 0; i < excluded; i++) {
        if (end > gatheredTogether) {
          this.#offerMeasured(query, end)
          end = 0
        }
        end = this.#gatherAllowed(spare[i]!, end)
      }
    }
    this.#offerMeasured(query, end)
  }

  #unvisited(rows: Uint32Array, end: number): number {
    let to = 0
    for (let i = 0; i < end; i++) if (this.#visit(rows[i]!)) rows[to++] = rows[i]!
    return to
  }

  #gatherAllowed(row: number, to: number): number {
    const list = this.#listOf(row, 0)
    const head = this.#words[list]!
    let end = to
    for (let i = head >>> 31; i < (head & endOfCount); i++) {
      const next = this.#words[list + 1 + i]!
      if (this.#isAllowedNode(next) && this.#visit(next)) this.#nearby[end++] = next
    }
    return end
  }

  #offerMeasured(query: number, end: number): void {
    this.#measured += end
    this.#offerNearby(query, end)
  }

  #offerNearby(query: number, end: number): void {
    for (let i = 0; i < end; i++) this.#offer(this.#keyFrom(query, this.#nearby[i]!))
  }

  #keyFrom(query: number, row: number): number {
    return keyOf(this.#between(query, this.#vectorOf(row)), row)
  }

  #lookAround(row: number, level: number): number {
    const list = this.#listOf(row, level)
    const head = this.#words[list]!
    const count = head & endOfCount
    let end = 0
    for (let i = head >>> 31; i < count; i++) {
      const to = this.#words[list + 1 + i]!
      if (this.#visit(to)) this.#nearby[end++] = to
    }
    this.#measured += end
    return end
  }

  #visit(row: number): boolean {
    if (this.#marks[row] === this.#epoch) return false
    this.#marks[row] = this.#epoch
    return true
  }

  #offer(key: number): void {
    if (this.#expandsKept()) {
      if (key < this.#worst) this.#keep(key)
      return
    }
    this.#pushWaiting(key)
    if (key >= this.#worst || (this.#filtered && !this.#isAllowedNode(rowOf(key)))) return
    if (this.#keep(key) >= this.#watched) return
    this.#changes[this.#oldest] = this.#measured
    this.#oldest = this.#oldest === this.#late ? 0 : this.#oldest + 1
  }

  #keep(key: number): number {
    let hole = this.#keptEnd
    if (hole === this.#ef) hole--
    else this.#keptEnd++
    hole = rise(this.#kept, hole, key)
    if (hole < this.#next) this.#next = hole
    if (this.#keptEnd === this.#ef) this.#worst = this.#kept[this.#ef - 1]!
    return hole
  }

  #pushWaiting(key: number): void {
    const heap = this.#waiting
    if (this.#waitingEnd === heap.length) this.#halveWaiting()
    let hole = this.#waitingEnd++
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      if (heap[parent]! <= key) break
      heap[hole] = heap[parent]!
      hole = parent
    }
    heap[hole] = key
  }

  #popWaiting(): number {
    const heap = this.#waiting
    const first = heap[0]!
    const end = --this.#waitingEnd
    const key = heap[end]!
    let hole = 0
    for (let child = 1; child < end; child = 2 * hole + 1) {
      if (child + 1 < end && heap[child + 1]! < heap[child]!) child++
      if (heap[child]! >= key) break
      heap[hole] = heap[child]!
      hole = child
    }
    heap[hole] = key
    return first
  }

  #halveWaiting(): void {
    const heap = this.#waiting
    const half = heap.length >> 1
    for (let i = 0; i < half; i++) {
      const key = this.#popWaiting()
      heap[this.#waitingEnd] = key
    }
    for (let i = 0; i < half; i++) heap[i] = heap[heap.length - 1 - i]!
    this.#waitingEnd = half
  }

  #report(k: number, outRows: number, outDistances: number): number {
    let found = 0
    for (let i = 0; i < this.#keptEnd && found < k; i++) {
      const row = rowOf(this.#kept[i]!)
      const distance = distanceOf(this.#kept[i]!)
      if (!this.#filtered || this.#isAllowed(row)) this.#put(row, distance, found++, outRows, outDistances)
      for (let twin = this.#firstTwin(row); twin !== noRow && found < k; twin = this.#nextTwin(twin))
        if (!this.#filtered || this.#isAllowed(twin))
          this.#put(twin, distance, found++, outRows, outDistances)
    }
    return found
  }

  #put(row: number, distance: number, at: number, outRows: number, outDistances: number): void {
    const words = this.#words
    this.#floats[outDistances + at] = distance
    let hole = outRows + at
    for (let i = at; i > 0; i--) {
      if (this.#floats[outDistances + i - 1] !== distance || words[hole - 1]! < row) break
      words[hole] = words[hole - 1]!
      hole--
    }
    words[hole] = row
  }

  #firstTwin(row: number): number {
    const list = this.#listOf(row, 0)
    return this.#words[list]! & hasTwins ? this.#words[list + 1]! : noRow
  }

  #nextTwin(twin: number): number {
    const after = this.#words[this.#listOf(twin, 0) + 1]!
    return after === twin ? noRow : after
  }

  #isAllowedNode(row: number): boolean {
    return ((this.#words[this.#allowedNodes + (row >>> 5)]! >>> (row & 31)) & 1) !== 0
  }

  #isAllowed(row: number): boolean {
    return ((this.#words[this.#allowed + (row >>> 5)]! >>> (row & 31)) & 1) !== 0
  }

  #clearList(list: number, level: number): void {
    this.#words.fill(0, list, list + 1 + (level === 0 ? 2 * this.#shape.m : this.#shape.m))
  }

  #listOf(row: number, level: number): number {
    const { m } = this.#shape
    return level === 0
      ? this.#links + row * (1 + 2 * m)
      : this.#upperLinks + this.#words[this.#upperStarts + row]! + (level - 1) * (1 + m)
  }

  #vectorOf(row: number): number {
    return this.#vectors + row * this.#shape.stride
  }

  #between(query: number, row: number): number {
    const { kind } = this.#shape
    if (kind === 'f32') return this.#betweenFloats(query / 4, row / 4)
    return kind === 'u8' ? this.#betweenBytes(query, row) : this.#sumOfParts(query / 4, row)
  }

  #betweenFloats(query: number, row: number): number {
    const floats = this.#floats
    const dim = this.#shape.stride / 4
    lanes.fill(0)
    for (let i = 0; i < dim; i++) {
      const gap = Math.fround(floats[row + i]! - floats[query + i]!)
      lanes[i & 15] = lanes[i & 15]! + Math.fround(gap * gap)
    }
    for (let i = 0; i < 4; i++) {
      const low = Math.fround(lanes[i]! + lanes[i + 4]!)
      lanes[i] = low + Math.fround(lanes[i + 8]! + lanes[i + 12]!)
    }
    return Math.fround(Math.fround(lanes[0]! + lanes[2]!) + Math.fround(lanes[1]! + lanes[3]!))
  }

  #betweenBytes(query: number, row: number): number {
    const bytes = this.#bytes
    let sum = 0
    for (let i = 0; i < this.#shape.stride; i++) {
      const gap = bytes[row + i]! - bytes[query + i]!
      sum += gap * gap
    }
    return Math.fround(sum)
  }

  #sumOfParts(table: number, row: number): number {
    lanes.fill(0, 0, 4)
    for (let part = 0; part < this.#shape.stride; part++)
      lanes[part & 3] = lanes[part & 3]! + this.#floats[table + part * 256 + this.#bytes[row + part]!]!
    return Math.fround(Math.fround(lanes[0]! + lanes[2]!) + Math.fround(lanes[1]! + lanes[3]!))
  }
}
