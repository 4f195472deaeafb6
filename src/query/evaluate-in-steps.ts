/** Evaluates expressions over many rows without blocking the event loop. */
import type { Batch, Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { sliceBatch } from '../arrow/slice.js'
import type { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { evaluate } from '../sql/evaluate.js'
import { inSteps, Steps } from './steps.js'

/**
 * Evaluate expressions for every row of a batch, in steps of a few milliseconds. The event loop runs between steps.
 * Returns one column per expression. Rejects with the reason of the pacer's signal if it is aborted, and with the
 * errors of `evaluate`.
 */
export async function evaluateInSteps(
  values: readonly BoundExpression[],
  batch: Batch,
  pacer: Pacer,
): Promise<Column[]> {
  const pieces: Column[][] = []
  for (const [from, to] of inSteps(batch.length, new Steps(values, batch.length), pacer)) {
    const piece = to - from === batch.length ? batch : sliceBatch(batch, from, to - from)
    pieces.push(values.map(value => evaluate(value, piece)))
    await pacer.turn()
  }
  if (pieces.length === 0) return values.map(value => evaluate(value, batch))
  return pieces.length === 1
    ? pieces[0]!
    : values.map((_, i) => concatColumns(pieces.map(piece => piece[i]!)))
}
