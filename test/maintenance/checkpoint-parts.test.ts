/** Parts of checkpoints stay few, and are not written often. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CheckpointPart } from '../../src/commit/checkpoints.js'
import { countOfParts } from '../../src/maintenance/checkpoint-parts.js'

test('a small state is written whole', () => {
  expect(countOfParts([], 100)).toBe(0)
  expect(countOfParts([{ name: 'w', bytes: 32 * 1024 }], 100)).toBe(0)
  expect(countOfParts([{ name: 'w', bytes: 33 * 1024 }], 100)).toBe(1)
})

test('parts are few, have no more bytes than the state, and each change is written a few times', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 33 * 1024, max: 4e6 }),
      fc.array(fc.integer({ min: 200, max: 100_000 }), { minLength: 1, maxLength: 300 }),
      (whole, sizes) => {
        let parts: CheckpointPart[] = [{ name: 'w', bytes: whole }]
        let written = 0
        let changed = 0
        for (const bytes of sizes) {
          changed += bytes
          const count = countOfParts(parts, bytes)
          if (count === 0) {
            parts = [{ name: 'w', bytes: whole }]
            written += whole
            continue
          }
          const own = parts.slice(count).reduce((sum, part) => sum + part.bytes, bytes)
          parts = [...parts.slice(0, count), { name: 'p', bytes: own }]
          written += own
          expect(parts.slice(1).reduce((sum, part) => sum + part.bytes, 0)).toBeLessThanOrEqual(whole)
          expect(parts.length).toBeLessThanOrEqual(1 + 3 * 6)
        }
        // Once when it is new, once per level above, and once in a whole checkpoint.
        expect(written).toBeLessThanOrEqual(whole + 8 * changed)
      },
    ),
    { numRuns: 300 },
  )
})
