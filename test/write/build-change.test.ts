import { describe, expect, test } from 'vitest'
import { asBytes } from '../../src/arrow/layout.js'
import { newTable, withVersion } from '../../src/catalog/state.js'
import { decideUpdateTag } from '../../src/catalog/tags.js'
import { NumberRuns } from '../../src/primitives/number-runs.js'
import { appendedRows, buildChange, changedRow } from '../../src/write/build-change.js'

const next = { row: 70, frag: 4, field: 3 }
const head = withVersion(newTable('u', ['t'], {}), 'sheaf', 5, {
  next,
  schemaId: 2,
  start: 1,
  changes: [],
  fragments: 3,
})
const tagged = { ...head, tags: head.tags.set('prod', 5) }

/** The value after a reader parsed its text. `toStrictEqual` tells undefined from absent, and -0 from 0. */
const parsed = (value: unknown) => JSON.parse(JSON.stringify(value))

describe('the change of an append of one blob', () => {
  const change = appendedRows(head, 6, 100, [1, 2], 8)

  test('is the one that is built from its parts', () => {
    const draft = { rows: 6, content: { blob: new Uint8Array(100) }, zones: new Map() }
    const built = buildChange(head, { kind: 'append', drafts: [draft], fields: [1, 2] }, 8)
    expect(JSON.stringify(change)).toBe(JSON.stringify(built.change))
  })

  test('equals the change that a reader parses, so it is not parsed', () => {
    expect(change).toStrictEqual(parsed(change))
  })
})

describe('the change of one row', () => {
  const bytes = Uint8Array.of(1, 2, 3)
  const draft = { rows: 1, content: { blob: bytes }, zones: new Map() }
  const offsets = Uint32Array.of(7)
  const content = { blob: asBytes(offsets) }
  const dead = new Map([[3, { runs: NumberRuns.of(offsets), content }]])
  const place = { fragment: 3, offset: 7 }
  const moved = [{ draft, ids: { row0: 12 } }]
  const cases = {
    update: [
      { removed: { ...place, rowsLeft: 2 }, written: { bytes, id: 12 } },
      { moved, dead },
    ],
    'update of the last row': [
      { removed: { ...place, rowsLeft: 1 }, written: { bytes, id: 12 } },
      { moved, drop: [3] },
    ],
    insert: [{ removed: null, written: { bytes, id: null } }, { drafts: [draft] }],
    delete: [{ removed: { ...place, rowsLeft: 2 }, written: null }, { dead }],
    'delete of the last row': [{ removed: { ...place, rowsLeft: 1 }, written: null }, { drop: [3] }],
  } as const

  test.each(Object.entries(cases))('%s: is the one that is built from its parts', (_, [write, parts]) => {
    const { change, blobs } = changedRow(head, { kind: 'merge', ...write }, [1, 2], 8)
    const built = buildChange(head, { kind: 'merge', ...parts, fields: [1, 2] }, 8)
    expect(JSON.stringify(change)).toBe(JSON.stringify(built.change))
    expect(blobs).toEqual(built.blobs)
    expect(change).toStrictEqual(parsed(change))
  })
})

test('the operation that moves a tag equals the one that a reader parses', () => {
  const op = decideUpdateTag(tagged, 'prod', 5)
  expect(op).toStrictEqual(parsed(op))
})
