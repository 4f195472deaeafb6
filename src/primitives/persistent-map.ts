/**
 * An immutable map with string keys. `set` and `delete` return a new map that shares all nodes with the old map, except
 * for the nodes on one path of the trie. So a change takes O(log n), and a snapshot of the map needs no copy.
 *
 * The map is a hash array mapped trie (Bagwell, "Ideal Hash Trees", 2001). A node has up to 32 branches and a bitmap of
 * the branches that exist. Keys with equal hashes are in a list at the bottom of the trie.
 */
import { popcount } from './bitset.js'

const branchBits = 5
const hashBits = 32

interface Leaf<V> {
  readonly hash: number
  readonly key: string
  readonly value: V
}

/** A list of leaves whose keys have equal 32-bit hashes. */
interface Collision<V> {
  readonly hash: number
  readonly leaves: readonly Leaf<V>[]
}

interface Branch<V> {
  readonly bitmap: number
  readonly slots: readonly Node<V>[]
}

type Node<V> = Leaf<V> | Collision<V> | Branch<V>

/** An immutable map with string keys. Values must not be undefined. */
export class PersistentMap<V> implements Iterable<readonly [string, V]> {
  readonly size: number
  readonly #root: Node<V> | null

  private constructor(root: Node<V> | null, size: number) {
    this.#root = root
    this.size = size
  }

  static readonly #empty = new PersistentMap<never>(null, 0)

  static empty<V>(): PersistentMap<V> {
    return PersistentMap.#empty as PersistentMap<V>
  }

  get(key: string): V | undefined {
    const hash = hashOf(key)
    let node = this.#root
    for (let shift = 0; node !== null; shift += branchBits) {
      if (isLeaf(node)) return node.key === key ? node.value : undefined
      if (isCollision(node)) return node.leaves.find(leaf => leaf.key === key)?.value
      const bit = 1 << ((hash >>> shift) & 31)
      if ((node.bitmap & bit) === 0) return undefined
      node = node.slots[slotOf(node.bitmap, bit)]!
    }
    return undefined
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  set(key: string, value: V): PersistentMap<V> {
    const leaf: Leaf<V> = { hash: hashOf(key), key, value }
    const root = this.#root === null ? leaf : insert(this.#root, leaf, 0)
    return new PersistentMap(root, this.size + (this.has(key) ? 0 : 1))
  }

  delete(key: string): PersistentMap<V> {
    if (this.#root === null || !this.has(key)) return this
    return new PersistentMap(remove(this.#root, hashOf(key), key, 0), this.size - 1)
  }

  /**
   * Return the keys that only this map contains (`gone`), and the keys that only `other` contains (`added`). Nodes that
   * both maps share are skipped. So comparing two states of one map takes time proportional to their difference.
   */
  keysThatDiffer(other: PersistentMap<V>): { readonly gone: string[]; readonly added: string[] } {
    const gone: string[] = []
    const added: string[] = []
    differ(this.#root, other.#root, gone, added)
    return { gone, added }
  }

  /**
   * Yield the keys whose values are not those of `before`, with their values in this map; undefined for a key that only
   * `before` contains. Nodes that both maps share are skipped, as in `keysThatDiffer`.
   */
  changesSince(before: PersistentMap<V>): Generator<readonly [string, V | undefined]> {
    return changes(before.#root, this.#root)
  }

  /** Iterate over keys and values. The order depends only on the keys, not on the history of the map. */
  *[Symbol.iterator](): Iterator<readonly [string, V]> {
    if (this.#root !== null) yield* walk(this.#root)
  }

  *keys(): IterableIterator<string> {
    for (const [key] of this) yield key
  }
}

function isLeaf<V>(node: Node<V>): node is Leaf<V> {
  return 'key' in node
}

function isCollision<V>(node: Node<V>): node is Collision<V> {
  return 'leaves' in node
}

function insert<V>(node: Node<V>, leaf: Leaf<V>, shift: number): Node<V> {
  if (isLeaf(node)) return node.key === leaf.key ? leaf : join(node, leaf, shift)
  if (isCollision(node)) {
    if (node.hash !== leaf.hash) return join(node, leaf, shift)
    const others = node.leaves.filter(other => other.key !== leaf.key)
    return { hash: node.hash, leaves: [...others, leaf].sort((a, b) => (a.key < b.key ? -1 : 1)) }
  }
  const bit = 1 << ((leaf.hash >>> shift) & 31)
  const at = slotOf(node.bitmap, bit)
  if ((node.bitmap & bit) === 0) {
    return { bitmap: node.bitmap | bit, slots: [...node.slots.slice(0, at), leaf, ...node.slots.slice(at)] }
  }
  return {
    bitmap: node.bitmap,
    slots: node.slots.with(at, insert(node.slots[at]!, leaf, shift + branchBits)),
  }
}

/** Create a branch with two nodes. If their hashes begin with the same bits, create further branches below it. */
function join<V>(a: Leaf<V> | Collision<V>, b: Leaf<V>, shift: number): Node<V> {
  if (a.hash === b.hash || shift >= hashBits) {
    const leaves = isLeaf(a) ? [a, b] : [...a.leaves, b]
    return { hash: b.hash, leaves: leaves.sort((x, y) => (x.key < y.key ? -1 : 1)) }
  }
  const bitA = 1 << ((a.hash >>> shift) & 31)
  const bitB = 1 << ((b.hash >>> shift) & 31)
  if (bitA === bitB) return { bitmap: bitA, slots: [join(a, b, shift + branchBits)] }
  return { bitmap: bitA | bitB, slots: bitA >>> 0 < bitB >>> 0 ? [a, b] : [b, a] }
}

/**
 * Remove a key from a node. If only one leaf of a branch remains, the branch is replaced with this leaf, so that maps
 * with equal contents have equal shapes.
 */
function remove<V>(node: Node<V>, hash: number, key: string, shift: number): Node<V> | null {
  if (isLeaf(node)) return null
  if (isCollision(node)) {
    const leaves = node.leaves.filter(leaf => leaf.key !== key)
    return leaves.length === 1 ? leaves[0]! : { hash, leaves }
  }
  const bit = 1 << ((hash >>> shift) & 31)
  const at = slotOf(node.bitmap, bit)
  const child = remove(node.slots[at]!, hash, key, shift + branchBits)
  const slots = child === null ? node.slots.toSpliced(at, 1) : node.slots.with(at, child)
  if (slots.length === 0) return null
  const only = slots[0]!
  if (slots.length === 1 && (isLeaf(only) || isCollision(only))) return only
  return { bitmap: child === null ? node.bitmap & ~bit : node.bitmap, slots }
}

function* walk<V>(node: Node<V>): Generator<readonly [string, V]> {
  if (isLeaf(node)) yield [node.key, node.value]
  else if (isCollision(node)) for (const leaf of node.leaves) yield [leaf.key, leaf.value]
  else for (const slot of node.slots) yield* walk(slot)
}

function differ<V>(a: Node<V> | null, b: Node<V> | null, onlyA: string[], onlyB: string[]): void {
  if (a === b) return
  if (a !== null && b !== null && isBranch(a) && isBranch(b)) {
    for (let place = 0; place < 32; place++) differ(childAt(a, place), childAt(b, place), onlyA, onlyB)
    return
  }
  const keysOfA = new Set(a === null ? [] : leafKeys(a))
  const keysOfB = new Set(b === null ? [] : leafKeys(b))
  for (const key of keysOfA) if (!keysOfB.has(key)) onlyA.push(key)
  for (const key of keysOfB) if (!keysOfA.has(key)) onlyB.push(key)
}

function* changes<V>(
  before: Node<V> | null,
  after: Node<V> | null,
): Generator<readonly [string, V | undefined]> {
  if (before === after) return
  if (before !== null && after !== null && isBranch(before) && isBranch(after)) {
    for (let places = before.bitmap | after.bitmap; places !== 0; places &= places - 1) {
      const place = 31 - Math.clz32(places & -places)
      const [a, b] = [childAt(before, place), childAt(after, place)]
      // Most nodes are shared. A generator for each of them would cost more than the changes.
      if (a !== b) yield* changes(a, b)
    }
    return
  }
  if (before !== null && after !== null && isLeaf(before) && isLeaf(after) && before.key === after.key) {
    if (before.value !== after.value) yield [after.key, after.value]
    return
  }
  const gone = new Map(before === null ? [] : walk(before))
  if (after !== null) {
    for (const [key, value] of walk(after)) {
      if (gone.get(key) !== value) yield [key, value]
      gone.delete(key)
    }
  }
  for (const key of gone.keys()) yield [key, undefined]
}

function isBranch<V>(node: Node<V>): node is Branch<V> {
  return 'slots' in node
}

function childAt<V>({ bitmap, slots }: Branch<V>, place: number): Node<V> | null {
  const bit = 1 << place
  return (bitmap & bit) === 0 ? null : slots[slotOf(bitmap, bit)]!
}

function* leafKeys<V>(node: Node<V>): Generator<string> {
  for (const [key] of walk(node)) yield key
}

/** Return the position of a branch in the array of a node: the number of set bits of `bitmap` below `bit`. */
function slotOf(bitmap: number, bit: number): number {
  return popcount(bitmap & (bit - 1))
}

/** Return a 32-bit hash: FNV-1a over UTF-16 code units, with a final multiplication that mixes the low bits. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
