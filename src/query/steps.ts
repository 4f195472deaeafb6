/**
 * How many rows to evaluate in one go: as many as take a few milliseconds. What an expression costs is known roughly from
 * its shape, but not how long the texts are that it meets; so the first steps are short, and the next as long as those
 * before them allow.
 */
import type { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound.js'
import { costOf } from '../sql/cost.js'

/** Nanoseconds that one step may take, as estimated. */
const stepCost = 3_000_000
/** Milliseconds: shorter steps may grow, longer ones shrink. */
const shortStep = 2
const longStep = 5
/** Estimated nanoseconds per row up to which the estimate is trusted: no text is looked at as a whole. */
const plainCost = 25
/** Rows of the first step: of what is trusted, and of what is not. */
const firstRows = { plain: 16 * 1024, costly: 16 } as const
/** Rows in a word of a bitmap: who cuts bitmaps evaluates multiples of this. */
export const wordRows = 32

const learnt = new WeakMap<BoundExpression, number>()

export class Steps {
  readonly #key: BoundExpression | null
  readonly #most: number
  readonly #unit: number
  #rows: number

  /**
   * `most`: rows that are never exceeded; `unit`: every step is a multiple of it. What is learnt of the first expression is kept for its
   * next use.
   */
  constructor(expressions: readonly BoundExpression[], most: number, unit = 1) {
    const weight = expressions.reduce((sum, { expr }) => sum + costOf(expr).weight, 1)
    this.#key = expressions[0] ?? null
    this.#unit = unit
    this.#most = this.#whole(Math.min(most, stepCost / weight))
    const known = this.#key === null ? undefined : learnt.get(this.#key)
    this.#rows = Math.min(
      this.#most,
      this.#whole(known ?? firstRows[weight > plainCost ? 'costly' : 'plain']),
    )
  }

  /** Rows of the next step. */
  get rows(): number {
    return this.#rows
  }

  /** A step of `rows` rows took `ms` milliseconds. */
  took(rows: number, ms: number): void {
    if (ms > longStep) this.#rows = this.#whole((rows * longStep) / 2 / ms)
    else if (ms < shortStep && rows >= this.#rows) this.#rows = Math.min(this.#most, 4 * this.#rows)
    else return
    if (this.#key !== null) learnt.set(this.#key, this.#rows)
  }

  #whole(rows: number): number {
    return Math.max(this.#unit, Math.floor(rows / this.#unit) * this.#unit)
  }
}

/** Cuts `length` rows into steps, each of which lasts until the next one is asked for. */
export function* inSteps(
  length: number,
  steps: Steps,
  pacer: Pacer,
): Generator<readonly [from: number, to: number]> {
  for (let from = 0, to: number; from < length; from = to) {
    to = Math.min(length, from + steps.rows)
    const begun = pacer.worked()
    yield [from, to]
    steps.took(to - from, pacer.worked() - begun)
  }
}
