/** How hard a segment has to look, found out on the segment itself: the least effort with which questions of every kind find their neighbours. */
import type { Pacer } from '../../primitives/pacer.js'
import { poorKept, poorRecall } from './recalls.js'
import { type Blur, crowdMost, enoughWork, leastPoints } from './saturation.js'
import type { Candidates, Recalls, SegmentFacts } from './segment.js'
import { type Question, type Truth, truthDepth } from './truth.js'

/**
 * Of the ten nearest rows, so many are to be found by every kind of question: more than is promised, because few are asked, and filters differ
 * more than points do.
 */
const recallWanted = { all: 0.97, filtered: 0.98 }
/** Candidates that are enough for this share of the rows asked about are measured at once; for the others, some more afterwards. */
const usualShare = 0.75

/** How hard a search may look. */
export interface Trial {
  /** Partitions to look at, or candidates of a walk. */
  readonly effort: number
  readonly blur: Blur
  /** Candidates that are asked for first. */
  readonly first: number
}

export interface Tuned {
  readonly trial: Trial
  /** Candidates to be measured first for ten rows. */
  readonly candidates: number
  /** Parts of the true neighbours that are found so. */
  readonly recalls: Recalls
  /** The greatest share, of the questions of a kind, that find little. */
  readonly poor: number
  /** Rows measured by such a search for a row. */
  readonly measured: number
  /** Part of the searches for rows that do not settle: all rows are measured after them. */
  readonly unsettled: number
}

/** What is found out for searches of all rows, and for those of the rows that pass a filter: null where no question has a filter. */
export interface TunedTwice {
  readonly all: Tuned
  readonly filtered: Tuned | null
}

/** What a segment knows of itself after both tunings. */
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

/** What a segment proposes with an effort, at least `count` candidates where there are so many. */
export type Propose = (question: Question, effort: number, count: number) => Promise<Candidates>

/** Candidates that are asked for at most. */
export const mostCandidates = 960
/** A search that needs more candidates asks again for at least this multiple of the candidates that it asked for. */
const moreCandidates = 4

/**
 * The first of `trials`, which ascend, with which enough is found for every kind of question; where none is enough, the one that finds most.
 * Found out apart for searches with a filter and without: they cost differently.
 */
export async function tune(
  truth: Truth,
  trials: readonly Trial[],
  propose: Propose,
  pacer: Pacer,
): Promise<TunedTwice> {
  const all = await tuneFor(truth, false, trials, propose, pacer)
  const isAsked = truth.questions.some(({ excluded }) => excluded !== null)
  return { all, filtered: isAsked ? await tuneFor(truth, true, trials, propose, pacer) : null }
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

/** What came of a question. */
interface Answer {
  readonly kind: keyof Recalls
  /** How many neighbours are wanted, and how many are found. */
  readonly wanted: number
  readonly found: number
  /** Candidates that are measured. */
  readonly depth: number
  readonly measured: number
  readonly isSettled: boolean
}

/** Candidates proposed with one effort, by question and number asked for. Trials that differ in their blur alone reuse them. */
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
      const places: number[] = []
      for (const [i, ordinal] of ordinals.entries()) if (neighbours.has(ordinal)) places.push(i + 1)
      const depth = settledDepth(places, copies, blur)
      const mayGoOn = ended === 'saturated' && count < mostCandidates && ordinals.length >= count
      if (depth <= ordinals.length || !mayGoOn) {
        // All rows are measured where a search does not settle.
        const found =
          ended === 'unsettled' ? wanted : Math.min(wanted, places.filter(place => place <= depth).length)
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
  /** Of the questions that are rows, or rows with a filter: candidates that were enough. */
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

/** Candidates that a search measures. `places`: ranks of the nearest rows among the candidates, ascending, from 1; `copies`: rows at each point. */
function settledDepth(places: readonly number[], copies: number, { factor, more }: Blur): number {
  const each = factor > 1 ? copies : 1
  const rule = { factor, more: more * each }
  let depth = enoughWork(rule, Math.max(truthDepth, Math.min(crowdMost, Math.ceil(each * leastPoints))))
  for (const place of places) {
    if (place > depth) break
    depth = Math.max(depth, enoughWork(rule, place))
  }
  return depth
}

/** Candidates for `k` rows, where so many are enough for ten: the more rows, the fewer for each. */
export function candidatesFor(k: number, forTen: number): number {
  const spare = Math.max(0, forTen - truthDepth)
  return Math.ceil(k + spare * Math.max(1, Math.sqrt(k / truthDepth)))
}
