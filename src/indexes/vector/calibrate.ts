/** How hard a segment has to look, found out on the segment itself: the least effort with which questions of every kind find their neighbours. */
import { type Blur, enoughWork } from './saturation.js'
import type { Candidates, Recalls } from './segment.js'
import { type Question, type Truth, truthDepth } from './truth.js'

/** Of the ten nearest rows, so many are to be found. */
const recallWanted = 0.975
/** Candidates that are enough for this share of the rows asked about are measured at once; for the others, some more afterwards. */
const usualShare = 0.75

export interface Tuned {
  /** Partitions to look at, or candidates of a walk. */
  readonly effort: number
  /** Candidates to be measured first for ten rows. */
  readonly candidates: number
  /** Parts of the true neighbours that are found so. */
  readonly recalls: Recalls
  /** Rows measured by such a search for a row. */
  readonly measured: number
}

/** What a segment proposes with an effort, at least `count` candidates where there are so many. */
export type Propose = (question: Question, effort: number, count: number) => Promise<Candidates>

/** Candidates that are asked for at most. */
const mostCandidates = 960

/**
 * The least of `efforts`, which ascend, with which enough is found for every kind of question; where none is enough, the one that finds most.
 */
export async function tune(
  truth: Truth,
  efforts: readonly number[],
  blur: Blur,
  propose: Propose,
): Promise<Tuned> {
  let best: Tuned | null = null
  for (const effort of efforts) {
    const tuned = await triedOf(truth, effort, blur, propose)
    if (best === null || leastOf(tuned.recalls) > leastOf(best.recalls)) best = tuned
    if (leastOf(tuned.recalls) >= recallWanted) break
  }
  return best!
}

function leastOf({ rows, between, excluded }: Recalls): number {
  return Math.min(rows ?? 1, between ?? 1, excluded ?? 1)
}

async function triedOf(truth: Truth, effort: number, blur: Blur, propose: Propose): Promise<Tuned> {
  const wanted = { rows: 0, between: 0, excluded: 0 }
  const found = { rows: 0, between: 0, excluded: 0 }
  /** Of the questions that are rows: candidates that were enough. */
  const depths: number[] = []
  let measured = 0
  for (const [q, question] of truth.questions.entries()) {
    const neighbours = new Set(truth.neighbours(q))
    wanted[question.kind] += neighbours.size
    const proposed = await propose(question, effort, mostCandidates + truth.rows.size)
    /** Where the neighbours stand among the candidates. */
    const places: number[] = []
    let place = 0
    for (const ordinal of proposed.ordinals) {
      if (truth.rows.has(ordinal)) continue
      place++
      if (neighbours.has(ordinal)) places.push(place)
    }
    const depth = settledDepth(places, blur)
    // All rows are measured where a search does not settle.
    const isExact = proposed.ended === 'unsettled'
    found[question.kind] += isExact ? neighbours.size : places.filter(at => at <= depth).length
    if (question.kind !== 'rows') continue
    measured += proposed.measured
    depths.push(depth)
  }
  depths.sort((a, b) => a - b)
  const recallOf = (kind: keyof Recalls) => (wanted[kind] === 0 ? null : found[kind] / wanted[kind])
  return {
    effort,
    candidates: depths[Math.floor(depths.length * usualShare)] ?? mostCandidates,
    recalls: { rows: recallOf('rows'), between: recallOf('between'), excluded: recallOf('excluded') },
    measured: measured / Math.max(1, depths.length),
  }
}

/** How many candidates are measured where the nearest rows stand at `places` (ascending, from 1) among them. */
function settledDepth(places: readonly number[], blur: Blur): number {
  let depth = enoughWork(blur, truthDepth)
  for (const place of places) {
    if (place > depth) break
    depth = Math.max(depth, enoughWork(blur, place))
  }
  return depth
}

/** Candidates for `k` rows, where so many are enough for ten: the more rows, the fewer for each. */
export function candidatesFor(k: number, forTen: number): number {
  const spare = Math.max(0, forTen - truthDepth)
  return Math.ceil(k + spare * Math.max(1, Math.sqrt(k / truthDepth)))
}
