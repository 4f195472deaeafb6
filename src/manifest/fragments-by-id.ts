/** Finds the fragments of a version by id. */
import type { Fragment } from './layout.js'

/**
 * The fragments of a version by id. In most versions the ids ascend, so that a binary search finds a fragment. Other
 * versions need a map, which takes much longer to build than a check of the order.
 */
export class FragmentsById {
  readonly #fragments: readonly Fragment[]
  /** The positions by id. Null if the ids ascend. */
  readonly #positions: ReadonlyMap<number, number> | null

  private constructor(fragments: readonly Fragment[]) {
    this.#fragments = fragments
    this.#positions = isAscending(fragments)
      ? null
      : new Map(fragments.map((fragment, position) => [fragment.id, position]))
  }

  /** Return the lookup of a list of fragments. All calls with the same list share it. */
  static of(fragments: readonly Fragment[]): FragmentsById {
    let known = lookups.get(fragments)
    if (known === undefined) {
      known = new FragmentsById(fragments)
      lookups.set(fragments, known)
    }
    return known
  }

  get(id: number): Fragment | undefined {
    const position = this.positionOf(id)
    return position === undefined ? undefined : this.#fragments[position]
  }

  /** Return the position of a fragment in the list; undefined if the list does not have it. */
  positionOf(id: number): number | undefined {
    if (this.#positions !== null) return this.#positions.get(id)
    const fragments = this.#fragments
    let [low, high] = [0, fragments.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (fragments[middle]!.id < id) low = middle + 1
      else high = middle
    }
    return fragments[low]?.id === id ? low : undefined
  }
}

const lookups = new WeakMap<readonly Fragment[], FragmentsById>()

function isAscending(fragments: readonly Fragment[]): boolean {
  let last = -1
  for (let i = 0; i < fragments.length; i++) {
    const { id } = fragments[i]!
    if (id <= last) return false
    last = id
  }
  return true
}
