/** What a segment is like where the caller does not say. */
import { expect, test } from 'vitest'
import { resolveSettings } from '../../../src/indexes/vector/settings.js'

test.each([
  [1000, undefined, 100],
  [262_144, undefined, 100],
  [1_000_000, undefined, 140],
  [16_777_216, undefined, 283],
  // Of rows that are divided, graphs are no larger than their parts.
  [1_000_000, 10, 100],
])('a graph of %d rows in %s partitions chooses edges among %d candidates', (rows, partitions, expected) => {
  const parameters = partitions === undefined ? {} : { partitions }
  const { efConstruction } = resolveSettings({ kind: 'IVF_HNSW_SQ', metric: 'l2', parameters }, rows, 128)
  expect(efConstruction).toBe(expected)
})

test('parameters of the caller take precedence', () => {
  const spec = { kind: 'IVF_HNSW_SQ', metric: 'l2', parameters: { efConstruction: 33, m: 8 } } as const
  expect(resolveSettings(spec, 1_000_000, 128)).toMatchObject({ efConstruction: 33, m: 8 })
})
