/**
 * Breadth-first search through all states of a model. So the first violation has a shortest trace.
 *
 * - A state is kept only while its successors are computed. The search remembers 64 bits of hash per visited state.
 *   With 10 million states, the probability that two states have the same hash is below one in 300,000.
 * - To print a trace, the search remembers the parent of each state, and which successor of the parent it is.
 */

/** Receives a successor. `violation`: what is wrong with the step; null if nothing is. */
export type Emit = (
  state: Uint8Array,
  violation: string | null,
  actor: number,
  label: string,
  a: number,
  b: number,
) => void

export interface Searchable {
  initial(): Uint8Array
  successors(state: Uint8Array, emit: Emit): void
  /** Return what is wrong with a new state; null if nothing is. */
  check(state: Uint8Array, known: Fingerprints): string | null
}

interface Found {
  readonly states: number
  readonly steps: number
  readonly depth: number
  /** The first violation; null if there is none. */
  readonly violation: string | null
  /** The steps to the violation. */
  readonly trace: readonly string[]
}

/** A set of states, by 64 bits of hash. Open addressing. */
export class Fingerprints {
  #low = new Uint32Array(1 << 12)
  #high = new Uint32Array(1 << 12)
  #size = 0

  /** Add a state. Returns whether it is new. `salt`: separates several uses of one set. */
  add(state: Uint8Array, salt = 0): boolean {
    if (2 * this.#size >= this.#low.length) this.#grow()
    hash(state, salt)
    return this.#insert(hashLow, hashHigh)
  }

  has(state: Uint8Array, salt = 0): boolean {
    hash(state, salt)
    const mask = this.#low.length - 1
    for (let at = hashLow & mask; ; at = (at + 1) & mask) {
      const low = this.#low[at]!
      const high = this.#high[at]!
      if (low === 0 && high === 0) return false
      if (low === hashLow && high === hashHigh) return true
    }
  }

  #insert(low: number, high: number): boolean {
    const mask = this.#low.length - 1
    let at = low & mask
    while (this.#low[at] !== 0 || this.#high[at] !== 0) {
      if (this.#low[at] === low && this.#high[at] === high) return false
      at = (at + 1) & mask
    }
    this.#low[at] = low
    this.#high[at] = high
    this.#size++
    return true
  }

  #grow(): void {
    const low = this.#low
    const high = this.#high
    this.#low = new Uint32Array(2 * low.length)
    this.#high = new Uint32Array(2 * low.length)
    this.#size = 0
    for (let at = 0; at < low.length; at++) {
      if (low[at] !== 0 || high[at] !== 0) this.#insert(low[at]!, high[at]!)
    }
  }
}

let hashLow = 0
let hashHigh = 0

/** Compute two independent hashes of 32 bits: FNV-1a over words with a mix, and a multiply-rotate hash. The length of a state is a multiple
 * of 4. */
function hash(state: Uint8Array, salt: number): void {
  let low = 0x811c9dc5 ^ salt
  let high = 0x2545f491 + salt
  for (let at = 0; at < state.length; at += 4) {
    const word = state[at]! | (state[at + 1]! << 8) | (state[at + 2]! << 16) | (state[at + 3]! << 24)
    low = Math.imul(low ^ word, 0x01000193)
    low ^= low >>> 15
    high = Math.imul(((high << 7) | (high >>> 25)) ^ word, 0x9e3779b1)
  }
  low = Math.imul(low ^ (low >>> 16), 0x7feb352d)
  low = Math.imul(low ^ (low >>> 15), 0x846ca68b)
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b)
  hashLow = (low ^ (low >>> 16)) >>> 0
  hashHigh = (high ^ (high >>> 13)) >>> 0
  if (hashLow === 0 && hashHigh === 0) hashLow = 1
}

/** States of one length, back to back. */
class Frontier {
  readonly #bytes: number
  #states: Uint8Array
  size = 0

  constructor(bytes: number) {
    this.#bytes = bytes
    this.#states = new Uint8Array(bytes * 256)
  }

  push(state: Uint8Array): void {
    const end = (this.size + 1) * this.#bytes
    if (end > this.#states.length) {
      const larger = new Uint8Array(2 * this.#states.length)
      larger.set(this.#states)
      this.#states = larger
    }
    this.#states.set(state, end - this.#bytes)
    this.size++
  }

  get(index: number): Uint8Array {
    return this.#states.slice(index * this.#bytes, (index + 1) * this.#bytes)
  }
}

/** The parent of each visited state, and its number among the successors of the parent. */
class Ancestry {
  #parents = new Int32Array(1 << 12)
  #ordinals = new Uint16Array(1 << 12)
  size = 0

  push(parent: number, ordinal: number): void {
    if (this.size === this.#parents.length) {
      const parents = new Int32Array(2 * this.size)
      parents.set(this.#parents)
      this.#parents = parents
      const ordinals = new Uint16Array(2 * this.size)
      ordinals.set(this.#ordinals)
      this.#ordinals = ordinals
    }
    this.#parents[this.size] = parent
    this.#ordinals[this.size++] = ordinal
  }

  /** Return the ordinals on the path from the initial state to a state. */
  pathTo(state: number): number[] {
    const path: number[] = []
    for (let at = state; at > 0; at = this.#parents[at]!) path.push(this.#ordinals[at]!)
    return path.reverse()
  }
}

/** Explore a model until a violation is found, or all states are visited. Throws above `statesMax` states. */
export function search(model: Searchable, statesMax = 20_000_000): Found {
  const initial = model.initial()
  const visited = new Fingerprints()
  const progress = new Fingerprints()
  const ancestry = new Ancestry()
  let next = new Frontier(initial.length)
  visited.add(initial)
  ancestry.push(-1, 0)
  next.push(initial)
  let steps = 0
  let depth = 0
  let violation: string | null = null
  let path: number[] = []
  while (next.size > 0 && violation === null) {
    const current = next
    next = new Frontier(initial.length)
    const first = ancestry.size - current.size
    depth++
    for (let index = 0; index < current.size && violation === null; index++) {
      let ordinal = 0
      model.successors(current.get(index), (state, wrong) => {
        const own = ordinal++
        steps++
        if (violation !== null) return
        const isNew = wrong === null && visited.add(state)
        violation = wrong ?? (isNew ? model.check(state, progress) : null)
        if (violation !== null) path = [...ancestry.pathTo(first + index), own]
        if (!isNew) return
        ancestry.push(first + index, own)
        next.push(state)
      })
    }
    if (ancestry.size > statesMax) throw new Error(`the model has more than ${statesMax} states`)
  }
  return { states: ancestry.size, steps, depth, violation, trace: traceOf(model, path) }
}

/** Repeat a path, and describe its steps. */
function traceOf(model: Searchable, path: readonly number[]): string[] {
  const trace: string[] = []
  let state = model.initial()
  for (const wanted of path) {
    let ordinal = 0
    let reached = state
    model.successors(state, (next, _, actor, label, a, b) => {
      if (ordinal++ !== wanted) return
      reached = next
      const text = label.replace('%', String(a)).replace('%', String(b))
      trace.push(actor < 0 ? text : `process ${actor} ${text}`)
    })
    state = reached
  }
  return trace
}
