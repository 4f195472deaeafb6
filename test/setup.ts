/**
 * One seed for every property, so that a run repeats; `SHEAF_SEED` takes another (`npm run test:long` takes many). What a file leaves
 * behind ends with it.
 */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { afterAll, expect } from 'vitest'
import { stopClocks } from './support/clock.js'

fc.configureGlobal({ seed: Number(process.env.SHEAF_SEED ?? 1) })
afterAll(stopClocks)

/** Files that run together share one process, and what was added to `expect`. */
const added = Symbol.for('sheaf.test.equality')
const shared = globalThis as { [added]?: true }
if (shared[added] === undefined) {
  shared[added] = true
  // `expect` compares long values a hundred times slower. Whatever Node calls equal `expect` calls equal too; all else it compares itself.
  expect.addEqualityTesters([
    (a, b) => (isLong(a) && isLong(b) && isDeepStrictEqual(a, b) ? true : undefined),
    // `toMatchObject` takes every text for one that a regular expression matches.
    (a, b) => (typeof a === 'string' && b instanceof RegExp ? b.test(a) : undefined),
  ])
}

function isLong(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 50
  return ArrayBuffer.isView(value) || value instanceof Map
}
