/**
 * Chooses how many rows to evaluate without a pause: as many as take a few milliseconds. The cost of an expression follows
 * roughly from its shape, but not the length of its texts. So the first steps are short, and later ones adapt to measured times.
 */
import type { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound.js'

/** Nanoseconds that a step may take by estimate. */
const stepCost = 3_000_000
/** Milliseconds: steps shorter than `shortStep` grow, steps longer than `longStep` shrink. */
const shortStep = 2
const longStep = 5
/** Estimated nanoseconds per row up to which the estimate is trusted: such expressions do not read whole texts. */
const plainCost = 25
/** Rows of the first step, for trusted estimates and for others. */
const firstRows = { plain: 16 * 1024, costly: 16 } as const
/** Rows in a word of a bitmap: code that splits bitmaps evaluates multiples of this. */
export const wordRows = 32

/** Step sizes for some expressions; call `took` after each step. */
export class Steps {
  readonly #first: BoundExpression | undefined
  readonly #most: number
  readonly #unit: number
  #rows: number

  /**
   * `most`: maximum rows of a step. `unit`: every step is a multiple of it. The step size learned for the first expression is kept
   * for its next use.
   */
  constructor(expressions: readonly BoundExpression[], most: number, unit = 1) {
    const weight = expressions.reduce((sum, { expr }) => sum + expr.cost.weight, 1)
    this.#first = expressions[0]
    this.#unit = unit
    this.#most = this.#whole(Math.min(most, stepCost / weight))
    const first = this.#first?.stepRows ?? firstRows[weight > plainCost ? 'costly' : 'plain']
    this.#rows = Math.min(this.#most, this.#whole(first))
  }

  /** Rows of the next step. */
  get rows(): number {
    return this.#rows
  }

  /** Report that a step of `rows` rows took `ms` milliseconds. */
  took(rows: number, ms: number): void {
    if (ms > longStep) this.#rows = this.#whole((rows * longStep) / 2 / ms)
    else if (ms < shortStep && rows >= this.#rows) this.#rows = Math.min(this.#most, 4 * this.#rows)
    else return
    if (this.#first !== undefined) this.#first.stepRows = this.#rows
  }

  #whole(rows: number): number {
    return Math.max(this.#unit, Math.floor(rows / this.#unit) * this.#unit)
  }
}

/** Split `length` rows into steps. A step lasts until the caller asks for the next one. */
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
