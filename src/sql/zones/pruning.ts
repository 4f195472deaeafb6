/** Applies zone maps for queries. The code is a lazy import, like the evaluation of operations (`sql/evaluation.ts`). */
import { assert } from '../../errors.js'
import { lazyImport } from '../../lazy-import.js'
import type { Bound } from '../bound.js'
import type { Known, PossibleTruth } from './prune.js'

/** The code that applies zone maps. The binder sets it, so every bound condition can be tested without waiting. */
export const pruning = lazyImport(() => import('./prune.js'))

/** Return the truth values that a condition can have, like `possibleTruth` in `prune.ts`. */
export function possibleTruth(node: Bound, known: Known): PossibleTruth {
  const module = pruning()
  assert(!(module instanceof Promise), 'the binder has loaded the code that applies zone maps')
  return module.possibleTruth(node, known)
}
