/**
 * Tunes the search effort of a segment during its build. Tuning searches the segment with sampled queries, the
 * questions (truth.ts). It chooses the smallest effort with which every kind of question finds its true neighbours.
 */
import type { Pacer } from '../../primitives/pacer.js'
import { poorKept, poorRecall } from './recalls.js'
import { type Blur, crowdMost, enoughWork, leastPoints } from './saturation.js'
import type { Candidates, Recalls, SegmentFacts } from './segment.js'
import { type Question, type Truth, truthDepth } from './truth.js'

/**
 * Recall@10 that every kind of question must reach. The values are higher than the recall that a segment must have
 * (recalls.ts), because the sample of questions is small. The value for questions with a filter is the highest, because
 * filters vary more than points.
 */
const recallWanted = { all: 0.97, filtered: 0.98 }
/**
 * Share of the questions for which the first candidates of a search must suffice. This determines how many candidates a
 * search measures first. Searches for which they do not suffice measure more.
 */
const usualShare = 0.75

/** A combination of search parameters to try. */
export interface Trial {
  /**
   * A number that identifies the effort for `Propose`: a saturation factor (lists), or the index of a step (graphs).
   */
  readonly effort: number
  readonly blur: Blur
  /** Number of candidates that the trial requests first. */
  readonly first: number
}

/** The result of a trial. */
interface Tuned {
  readonly trial: Trial
  /** Number of candidates that a search for ten rows measures first. */
  readonly candidates: number
  /** Recall@10 of the trial, by kind of question. */
  readonly recalls: Recalls
  /** Share of questions below `poorRecall`, for the kind of question with the largest share. */
  readonly poor: number
  /** Average number of rows that a search measures. */
  readonly measured: number
  /** Share of searches that end `unsettled`, so that the query measures all rows. */
  readonly unsettled: number
}

/** The results for searches without and with a filter. `filtered` is null if no question has a filter. */
interface TunedTwice {
  readonly all: Tuned
  readonly filtered: Tuned | null
}

/** Return the facts of a segment that tuning measured. */
export function factsOf({ all, filtered }: TunedTwice): TunedFacts {
  return {
    recall: all.recalls.rows,
    recalls: { ...all.recalls, excluded: filtered?.recalls.excluded ?? null },
    poor: { all: all.poor, filtered: filtered?.poor ?? null },
    unsettled: all.unsettled,
    measured: Math.round(all.measured),
  }
}

type TunedFacts = Pick<SegmentFacts, 'recall' | 'recalls' | 'poor' | 'unsettled' | 'measured'>

/**
 * Searches a segment with an effort, and returns at least `count` candidates. Returns fewer if it does not find more.
 */
export type Propose = (question: Question, effort: number, count: number) => Promise<Candidates>

/** Maximum number of candidates that a trial requests. */
export const mostCandidates = 960
/** A trial that needs more candidates repeats the search with at least this many times as many candidates. */
const moreCandidates = 4

/**
 * Return the first trial with which every kind of question reaches the required recall. `trials` must ascend by cost.
 * If no trial reaches this recall, return the trial with the best recall. Searches with a filter and searches without a
 * filter are tuned separately, because their costs differ.
 */
export async function tune(
  truth: Truth,
  trials: readonly Trial[],
  propose: Propose,
  pacer: Pacer,
): Promise<TunedTwice> {
  const all = await tuneFor(truth, false, trials, propose, pacer)
  const hasFiltered = truth.questions.some(({ excluded }) => excluded !== null)
  return { all, filtered: hasFiltered ? await tuneFor(truth, true, trials, propose, pacer) : null }
}

async function tuneFor(
  truth: Truth,
  isFiltered: boolean,
  trials: readonly Trial[],
  propose: Propose,
  pacer: Pacer,
): Promise<Tuned> {
  const wanted = isFiltered ? recallWanted.filtered : recallWanted.all
  let best: Tuned | null = null
  const known: Known = { effort: -1, candidates: new Map() }
  for (const trial of trials) {
    const tuned = judged(await answersOf(truth, isFiltered, trial, propose, known, pacer), trial)
    if (best === null || leastOf(tuned.recalls) > leastOf(best.recalls)) best = tuned
    if (leastOf(tuned.recalls) >= wanted && tuned.poor <= poorKept) return tuned
  }
  return best!
}

function leastOf({ rows, between, excluded }: Recalls): number {
  return Math.min(rows ?? 1, between ?? 1, excluded ?? 1)
}

/** The result of one question. */
interface Answer {
  readonly kind: keyof Recalls
  /** Number of true neighbours, and number of true neighbours that the search found. */
  readonly wanted: number
  readonly found: number
  /** Number of candidates that the query measures (`measuredDepth`). */
  readonly depth: number
  readonly measured: number
  readonly isSettled: boolean
}

/**
 * Candidates of one effort, by question and requested number. Trials with the same effort but different blurs reuse
 * them.
 */
interface Known {
  effort: number
  readonly candidates: Map<string, Candidates>
}

async function answersOf(
  truth: Truth,
  isFiltered: boolean,
  { effort, blur, first }: Trial,
  propose: Propose,
  known: Known,
  pacer: Pacer,
): Promise<readonly Answer[]> {
  if (known.effort !== effort) known.candidates.clear()
  known.effort = effort
  const answers: Answer[] = []
  for (const [q, question] of truth.questions.entries()) {
    if ((question.excluded !== null) !== isFiltered) continue
    await pacer.turn()
    const near = truth.neighbours(q)
    if (near === null) continue
    const { kind } = question
    const neighbours = new Set(near.ordinals)
    const wanted = Math.min(truthDepth, neighbours.size)
    const copies = neighbours.size / near.points
    for (let count = first; ; ) {
      const key = `${q} ${count}`
      const candidates = known.candidates.get(key) ?? (await propose(question, effort, count))
      known.candidates.set(key, candidates)
      const { measured, ended } = candidates
      const ordinals = candidates.ordinals.filter(ordinal => !truth.rows.has(ordinal))
      const ranks: number[] = []
      for (const [i, ordinal] of ordinals.entries()) if (neighbours.has(ordinal)) ranks.push(i + 1)
      const depth = measuredDepth(ranks, copies, blur)
      const mayGoOn = ended === 'saturated' && count < mostCandidates && ordinals.length >= count
      if (depth <= ordinals.length || !mayGoOn) {
        // After an unsettled search the query measures all rows, so it finds all neighbours.
        const found =
          ended === 'unsettled' ? wanted : Math.min(wanted, ranks.filter(rank => rank <= depth).length)
        answers.push({ kind, wanted, found, depth, measured, isSettled: ended !== 'unsettled' })
        break
      }
      count = Math.min(mostCandidates, Math.max(depth, moreCandidates * count))
    }
  }
  return answers
}

const kinds = ['rows', 'between', 'excluded'] as const

function judged(answers: readonly Answer[], trial: Trial): Tuned {
  const wanted = { rows: 0, between: 0, excluded: 0 }
  const found = { rows: 0, between: 0, excluded: 0 }
  const asked = { rows: 0, between: 0, excluded: 0 }
  const poor = { rows: 0, between: 0, excluded: 0 }
  /** The number of measured candidates of each question of the kinds `rows` and `excluded`. */
  const depths: number[] = []
  let sum = 0
  let unsettled = 0
  for (const answer of answers) {
    wanted[answer.kind] += answer.wanted
    found[answer.kind] += answer.found
    asked[answer.kind]++
    if (answer.found < poorRecall * answer.wanted) poor[answer.kind]++
    if (answer.kind === 'between') continue
    sum += answer.measured
    if (!answer.isSettled) unsettled++
    depths.push(answer.depth)
  }
  depths.sort((a, b) => a - b)
  const recallOf = (kind: keyof Recalls) => (wanted[kind] === 0 ? null : found[kind] / wanted[kind])
  return {
    trial,
    candidates: depths[Math.floor(depths.length * usualShare)] ?? mostCandidates,
    recalls: { rows: recallOf('rows'), between: recallOf('between'), excluded: recallOf('excluded') },
    poor: Math.max(...kinds.map(kind => poor[kind] / Math.max(1, asked[kind]))),
    measured: sum / Math.max(1, depths.length),
    unsettled: unsettled / Math.max(1, depths.length),
  }
}

/**
 * Return the number of candidates that a query measures under the rule `blur` (saturation.ts). `ranks`: the ranks of
 * the true neighbours among the candidates, ascending, from 1. `copies`: average number of equal rows among the true
 * neighbours.
 */
function measuredDepth(ranks: readonly number[], copies: number, { factor, more }: Blur): number {
  const each = factor > 1 ? copies : 1
  const rule = { factor, more: more * each }
  let depth = enoughWork(rule, Math.max(truthDepth, Math.min(crowdMost, Math.ceil(each * leastPoints))))
  for (const rank of ranks) {
    if (rank > depth) break
    depth = Math.max(depth, enoughWork(rule, rank))
  }
  return depth
}

/**
 * Return the number of candidates for `k` rows, given the number for ten rows. A greater `k` needs fewer candidates per
 * row.
 */
export function candidatesFor(k: number, forTen: number): number {
  const spare = Math.max(0, forTen - truthDepth)
  return Math.ceil(k + spare * Math.max(1, Math.sqrt(k / truthDepth)))
}
