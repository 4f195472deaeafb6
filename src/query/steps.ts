/**
 * Chooses how many rows to evaluate between two pauses, so that a step takes a few milliseconds. The cost of an
 * expression can be estimated from its operators, but it also depends on the unknown length of texts. So the first
 * steps are short, and the size of later steps adapts to the measured times.
 */
import type { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound-expression.js'

/** Maximum estimated nanoseconds of a step. */
const stepCost = 3_000_000
/** If a step takes fewer milliseconds, the next step gets more rows. */
const shortStep = 2
/** If a step takes more milliseconds, the next step gets fewer rows. */
const longStep = 5
/** Maximum nanoseconds per row of a reliable estimate. Expressions with a lower estimate do not read whole texts. */
const plainCost = 25
/** Number of rows of the first step: `plain` for reliable estimates, `costly` for all other estimates. */
const firstRows = { plain: 16 * 1024, costly: 16 } as const
/** Number of rows in a word of a bitmap. If bitmaps are split into steps, the step sizes must be multiples of it. */
export const wordRows = 32

/** The step sizes of an evaluation. The caller must call `took` after each step. */
export class Steps {
  readonly #first: BoundExpression | undefined
  readonly #most: number
  readonly #unit: number
  #rows: number

  /**
   * `expressions`: the expressions that a step evaluates. `most`: maximum number of rows of a step. `unit`: every step
   * size is a multiple of it; default 1. The first expression stores the last step size, so that its next evaluation
   * begins with it.
   */
  constructor(expressions: readonly BoundExpression[], most: number, unit = 1) {
    const weight = expressions.reduce((sum, { expr }) => sum + expr.cost.weight, 1)
    this.#first = expressions[0]
    this.#unit = unit
    this.#most = this.#whole(Math.min(most, stepCost / weight))
    const first = this.#first?.stepRows ?? firstRows[weight > plainCost ? 'costly' : 'plain']
    this.#rows = Math.min(this.#most, this.#whole(first))
  }

  /** Number of rows of the next step. */
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

/**
 * Split `length` rows into steps, and measure the time of each step. A step ends when the caller requests the next
 * step.
 */
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
