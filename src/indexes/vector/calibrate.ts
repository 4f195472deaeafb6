/** How hard a segment has to look, found out on the segment itself: the least effort with which questions of every kind find their neighbours. */
import { type Blur, enoughWork } from './saturation.js'
import type { Candidates, Recalls } from './segment.js'
import { type Question, type Truth, truthDepth } from './truth.js'

/** Of the ten nearest rows, so many are to be found. */
const recallWanted = 0.98
/** Candidates that are enough for this share of the rows asked about are measured at once; for the others, some more afterwards. */
const usualShare = 0.75

export interface Tuned {
  /** Partitions to look at, or candidates of a walk. */
  readonly effort: number
  readonly blur: Blur
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
 * The least of `efforts`, which ascend, and for it the first of `blurs`, with which enough is found for every kind of question; where
 * none is enough, those that find most.
 */
export async function tune(
  truth: Truth,
  efforts: readonly number[],
  blurs: readonly Blur[],
  propose: Propose,
): Promise<Tuned> {
  let best: Tuned | null = null
  for (const effort of efforts) {
    const answers = await answersOf(truth, effort, propose)
    for (const blur of blurs) {
      const tuned = judged(answers, effort, blur)
      if (best === null || leastOf(tuned.recalls) > leastOf(best.recalls)) best = tuned
      if (leastOf(tuned.recalls) >= recallWanted) return tuned
    }
  }
  return best!
}

function leastOf({ rows, between, excluded }: Recalls): number {
  return Math.min(rows ?? 1, between ?? 1, excluded ?? 1)
}

/** What came of a question. */
interface Answer {
  readonly kind: keyof Recalls
  /** How many neighbours it has, and where those that are proposed stand among the candidates, ascending, from 1. */
  readonly neighbours: number
  readonly places: readonly number[]
  readonly measured: number
  /** The search did not settle: all rows are measured. */
  readonly isExact: boolean
}

async function answersOf(truth: Truth, effort: number, propose: Propose): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  for (const [q, question] of truth.questions.entries()) {
    const neighbours = new Set(truth.neighbours(q))
    const { ordinals, measured, ended } = await propose(question, effort, mostCandidates + truth.rows.size)
    const places: number[] = []
    let place = 0
    for (const ordinal of ordinals) {
      if (truth.rows.has(ordinal)) continue
      place++
      if (neighbours.has(ordinal)) places.push(place)
    }
    const { kind } = question
    answers.push({ kind, neighbours: neighbours.size, places, measured, isExact: ended === 'unsettled' })
  }
  return answers
}

function judged(answers: readonly Answer[], effort: number, blur: Blur): Tuned {
  const wanted = { rows: 0, between: 0, excluded: 0 }
  const found = { rows: 0, between: 0, excluded: 0 }
  /** Of the questions that are rows: candidates that were enough. */
  const depths: number[] = []
  let sum = 0
  for (const { kind, neighbours, places, measured, isExact } of answers) {
    const depth = settledDepth(places, blur)
    wanted[kind] += neighbours
    found[kind] += isExact ? neighbours : places.filter(place => place <= depth).length
    if (kind !== 'rows') continue
    sum += measured
    depths.push(depth)
  }
  depths.sort((a, b) => a - b)
  const recallOf = (kind: keyof Recalls) => (wanted[kind] === 0 ? null : found[kind] / wanted[kind])
  return {
    effort,
    blur,
    candidates: depths[Math.floor(depths.length * usualShare)] ?? mostCandidates,
    recalls: { rows: recallOf('rows'), between: recallOf('between'), excluded: recallOf('excluded') },
    measured: sum / Math.max(1, depths.length),
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
