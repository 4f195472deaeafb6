/** How hard a segment has to look, found out on the segment itself: the least effort with which sampled rows find their neighbours. */
import { type Truth, truthDepth } from './truth.js'

/** Of the ten nearest of the sampled rows, so many are to be found. */
const recallWanted = 0.975

export interface Tuned {
  /** Partitions to look at, or candidates of a walk. */
  readonly effort: number
  /** Candidates to be measured for ten rows. */
  readonly candidates: number
  /** Part of the true neighbours that are found so. */
  readonly recall: number
  /** Rows measured by such a search. */
  readonly measured: number
}

/** Proposals for a query, nearest first by guess, and how many rows were measured for them. */
export interface Proposed {
  readonly ordinals: Uint32Array
  readonly measured: number
}

/** Candidates for ten rows, by what they cost: the first that is enough is taken. */
const depths = [12, 16, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960]

/**
 * `efforts`: ascending. `propose`: what comes with an effort, at least `count` candidates where there are so many. The least effort is
 * taken with which any number of candidates is enough; and of those numbers the least. Where none is: the greatest.
 */
export async function tune(
  truth: Truth,
  efforts: readonly number[],
  propose: (query: Float32Array, effort: number, count: number) => Promise<Proposed>,
): Promise<Tuned> {
  let best: Tuned | null = null
  for (const effort of efforts) {
    const tuned = await triedOf(truth, effort, propose)
    if (best === null || tuned.recall > best.recall) best = tuned
    if (tuned.recall >= recallWanted) break
  }
  return best!
}

async function triedOf(
  truth: Truth,
  effort: number,
  propose: (query: Float32Array, effort: number, count: number) => Promise<Proposed>,
): Promise<Tuned> {
  const most = depths.at(-1)!
  /** By depth: neighbours found among so many candidates. */
  const found = new Float64Array(depths.length)
  let wanted = 0
  let measured = 0
  for (const [q, { vector }] of truth.queries.entries()) {
    const neighbours = new Set(truth.neighbours(q))
    wanted += neighbours.size
    const proposed = await propose(vector, effort, most + truth.rows.size)
    measured += proposed.measured
    let place = 0
    for (const ordinal of proposed.ordinals) {
      if (truth.rows.has(ordinal)) continue
      place++
      if (!neighbours.has(ordinal)) continue
      for (const [d, depth] of depths.entries()) if (place <= depth) found[d]! += 1
    }
  }
  const recalls = Array.from(found, count => (wanted === 0 ? 1 : count / wanted))
  const enough = recalls.findIndex(recall => recall >= recallWanted)
  const last = recalls.length - 1
  // More candidates than bring anything are none to be measured.
  const chosen = enough !== -1 ? enough : recalls.findIndex(recall => recall >= recalls[last]! - 0.002)
  return {
    effort,
    candidates: depths[chosen]!,
    recall: recalls[chosen]!,
    measured: measured / Math.max(1, truth.queries.length),
  }
}

/** Candidates for `k` rows, where so many are enough for ten: the more rows, the fewer for each. */
export function candidatesFor(k: number, forTen: number): number {
  const spare = Math.max(0, forTen - truthDepth)
  return Math.ceil(k + spare * Math.max(1, Math.sqrt(k / truthDepth)))
}
