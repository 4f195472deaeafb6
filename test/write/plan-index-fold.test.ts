/** Which segments of an index are extended, built anew, or left alone. */
import { beforeEach, expect, test, vi } from 'vitest'
import { defaultTextOptions } from '../../src/indexes/text/options.js'
import type { VectorKind } from '../../src/indexes/vector/kind.js'
import type { Fragment, Layout } from '../../src/manifest/layout.js'
import type { IndexSegment, TableIndex } from '../../src/manifest/table-index.js'
import { planIndexFold } from '../../src/write/plan-index-fold.js'
import { cutStretches } from '../../src/write/stretch.js'
import { fake } from '../support/fake-vector-build.js'

vi.mock('../../src/indexes/vector/build.js', () => import('../support/fake-vector-build.js'))
beforeEach(() => {
  fake.maxSegmentRows = 1_000_000
})

const float: Fragment['files'] = [{ file: 'f', bytes: 1, crc: 1, fields: [1] }]

function fragment(id: number, rows: number): Fragment {
  return { id, rows, ids: { row0: 0 }, files: float, dead: { parts: [], count: 0 } }
}

/** A segment over all rows of fragments, of which `gone` are no more. */
function segment(
  file: string,
  rows: number,
  of: readonly Fragment[],
  more: Partial<IndexSegment> = {},
): IndexSegment {
  let first = 0
  const cover = of.map(({ id, rows: count }) => {
    const item = { first, count, fragment: id, at: 0, file: 'f' }
    first += count
    return item
  })
  return { file, bytes: 1, crc: 1, rows, cover, ...more }
}

function indexOf(segments: readonly IndexSegment[], kind: VectorKind = 'IVF_FLAT'): TableIndex {
  return { name: 'i', uuid: 'u', kind, field: 1, ts: 0, vector: { metric: 'l2' }, segments }
}

function layoutOf(fragments: readonly Fragment[], element = { kind: 'float', bits: 32 } as const): Layout {
  const child = { name: 'item', type: element, nullable: true }
  const type = { kind: 'fixed_size_list', size: 2, child } as const
  const field = { id: 1, name: 'v', type, nullable: true, nested: [2] }
  return {
    table: 't',
    version: 1,
    schema: { id: 1, fields: [field] },
    earlier: [],
    indexes: [],
    fragments,
    next: { row: 1, frag: 1, field: 3 },
  }
}

/** In words: what goes, what it is extended, and which rows are added. */
function shown(index: TableIndex, layout: Layout, mode: 'lazy' | 'eager' | 'thorough' = 'thorough') {
  const fold = planIndexFold(index, layout, mode)
  if (fold === null) return null
  const rows = fold.stretches.map(({ fragment: { id }, from, to }) => `${id}:${from}-${to}`)
  return { from: fold.from, base: fold.base?.segment.file ?? null, rows }
}

test('a segment up to sixteen times as large as the new rows is extended, a larger one is left', () => {
  const old = fragment(1, 16_000)
  const layout = (rows: number) => layoutOf([old, fragment(2, rows)])
  const index = indexOf([segment('s', 16_000, [old])])
  expect(shown(index, layout(1000))).toEqual({ from: ['s'], base: 's', rows: ['2:0-1000'] })
  expect(shown(index, layout(999))).toEqual({ from: [], base: null, rows: ['2:0-999'] })
})

test('smaller segments are merged into the extended one', () => {
  const fragments = [fragment(1, 16_000), fragment(2, 900), fragment(3, 100)]
  const index = indexOf([segment('small', 900, [fragments[1]!]), segment('large', 16_000, [fragments[0]!])])
  expect(shown(index, layoutOf(fragments))).toEqual({
    from: ['large', 'small'],
    base: 'large',
    rows: ['2:0-900', '3:0-100'],
  })
})

test('rows wait until there are many, longer while the table is changed', () => {
  const old = fragment(1, 320_000)
  const index = indexOf([segment('s', 320_000, [old])])
  const at = (rows: number, mode: 'lazy' | 'eager' | 'thorough') =>
    shown(index, layoutOf([old, fragment(2, rows)]), mode) !== null
  expect([at(1, 'thorough'), at(9_999, 'eager'), at(10_000, 'eager')]).toEqual([true, false, true])
  expect([at(20_000, 'lazy'), at(21_334, 'lazy')]).toEqual([false, true])
  const small = indexOf([segment('s', 10, [fragment(1, 10)])])
  expect(shown(small, layoutOf([fragment(1, 10), fragment(2, 9_999)]), 'lazy')).toBeNull()
})

test('a segment that has grown to four times its first rows is rebuilt', () => {
  const fragments = [fragment(1, 4000), fragment(2, 300)]
  const grown = (begun: number) => indexOf([segment('s', 4000, [fragments[0]!], { begun })])
  expect(shown(grown(1075), layoutOf(fragments))?.base).toBe('s')
  expect(shown(grown(1074), layoutOf(fragments))).toEqual({
    from: ['s'],
    base: null,
    rows: ['1:0-4000', '2:0-300'],
  })
  const few = indexOf([segment('s', 20, [fragment(1, 20)])])
  expect(shown(few, layoutOf([fragment(1, 20), fragment(2, 100)]))?.base).toBeNull()
})

test('a segment with a fifth of its rows deleted is rebuilt without them', () => {
  const stays = (rows: number) => layoutOf([fragment(1, rows)])
  const index = (rows: number) => indexOf([segment('s', 1000, [fragment(1, rows)])])
  expect(shown(index(800), stays(800))).toBeNull()
  expect(shown(index(799), stays(799), 'lazy')).toEqual({ from: ['s'], base: null, rows: ['1:0-799'] })
})

test('no segment exceeds the maximum, deleted rows included', () => {
  fake.maxSegmentRows = 1000
  const fragments = [fragment(1, 850), fragment(2, 101)]
  const index = (rows: number) => indexOf([segment('s', rows, [fragments[0]!])])
  expect(shown(index(899), layoutOf(fragments))?.base).toBe('s')
  expect(shown(index(900), layoutOf(fragments))).toEqual({ from: [], base: null, rows: ['2:0-101'] })
})

test('graphs over product codes are not extended, and merged as they double', () => {
  const fragments = [fragment(1, 1000), fragment(2, 999)]
  const index = indexOf([segment('s', 1000, [fragments[0]!])], 'IVF_HNSW_PQ')
  expect(shown(index, layoutOf(fragments))).toEqual({ from: [], base: null, rows: ['2:0-999'] })
  const more = [fragments[0]!, fragment(2, 1000)]
  expect(shown(index, layoutOf(more))).toEqual({ from: ['s'], base: null, rows: ['1:0-1000', '2:0-1000'] })
})

test('a column that is no longer a vector column is left alone', () => {
  const type = { kind: 'utf8', large: false } as const
  const layout = layoutOf([fragment(1, 10)])
  const schema = { ...layout.schema, fields: [{ id: 1, name: 'v', type, nullable: true }] }
  expect(shown(indexOf([]), { ...layout, schema })).toBeNull()
})

test('stretches are cut where a list is full', () => {
  const of = fragment(1, 10)
  const cut = cutStretches(
    [
      { fragment: of, from: 0, to: 5 },
      { fragment: of, from: 7, to: 10 },
    ],
    3,
  )
  expect(cut.map(list => list.map(({ from, to }) => [from, to]))).toEqual([
    [[0, 3]],
    [
      [3, 5],
      [7, 8],
    ],
    [[8, 10]],
  ])
})

// ---- text

function textIndexOf(segments: readonly IndexSegment[]): TableIndex {
  const { vector: _, ...index } = indexOf(segments)
  return { ...index, kind: 'FTS', text: defaultTextOptions }
}

function textLayout(fragments: readonly Fragment[]): Layout {
  const layout = layoutOf(fragments)
  const type = { kind: 'utf8', large: false } as const
  return { ...layout, schema: { id: 1, fields: [{ id: 1, name: 'v', type, nullable: true }] } }
}

const textSegment = (
  name: string,
  fragments: readonly Fragment[],
  more: Partial<IndexSegment['text']> = {},
): IndexSegment => {
  const rows = fragments.reduce((sum, each) => sum + each.rows, 0)
  return { ...segment(name, rows, fragments), text: { identity: 'now', living: rows, ...more } }
}

const withDead = (id: number, rows: number, count: number): Fragment => {
  return { ...fragment(id, rows), dead: { count, parts: [] } }
}

test('texts: a thousand rows are merged in at once, fewer when the table is at rest', () => {
  const old = fragment(1, 16_000)
  const layout = (rows: number) => textLayout([old, fragment(2, rows)])
  const index = textIndexOf([textSegment('s', [old])])
  expect(shown(index, layout(1023), 'lazy')).toBeNull()
  expect(shown(index, layout(1024), 'lazy')).toEqual({ from: [], base: null, rows: ['2:0-1024'] })
  expect(shown(index, layout(1), 'eager')).toEqual({ from: [], base: null, rows: ['2:0-1'] })
})

test('texts: a segment with a fifth of its rows deleted is rebuilt, once', () => {
  const index = (living: number) => textIndexOf([textSegment('s', [fragment(1, 1000)], { living })])
  const anew = { from: ['s'], base: null, rows: ['1:0-1000'] }
  expect(shown(index(1000), textLayout([withDead(1, 1000, 200)]))).toBeNull()
  expect(shown(index(1000), textLayout([withDead(1, 1000, 201)]))).toEqual(anew)
  expect(shown(index(799), textLayout([withDead(1, 1000, 201)]))).toBeNull()
  expect(shown(index(0), textLayout([withDead(1, 1000, 999)]))).toBeNull()
})

test('texts: if two segments share a fragment, the smallest possible number of deleted rows counts for each', () => {
  const half = (name: string, first: number): IndexSegment => {
    const item = { first: 0, count: 500, fragment: 1, at: first, file: 'f' }
    return { ...textSegment(name, [fragment(1, 500)]), cover: [item] }
  }
  const index = textIndexOf([half('a', 0), half('b', 500)])
  expect(shown(index, textLayout([withDead(1, 1000, 500)]))).toBeNull()
  expect(shown(index, textLayout([withDead(1, 1000, 601)]))?.from).toEqual(['a', 'b'])
})

test('texts: segments of another analyzer are rebuilt, full ones are not merged', () => {
  const fragments = [fragment(1, 1000), fragment(2, 1000), fragment(3, 1000)]
  const [one, two] = [
    textSegment('one', [fragments[0]!]),
    textSegment('two', [fragments[1]!], { full: true }),
  ]
  const other = textSegment('one', [fragments[0]!], { identity: 'then' })
  const isCurrent = ({ text }: IndexSegment) => text?.identity === 'now'
  const plan = (index: TableIndex, some: readonly Fragment[]) =>
    planIndexFold(index, textLayout(some), 'thorough', isCurrent)?.from
  expect(plan(textIndexOf([one, two]), fragments.slice(0, 2))).toBeUndefined()
  expect(plan(textIndexOf([other, two]), fragments.slice(0, 2))).toEqual(['one'])
  expect(plan(textIndexOf([one, two]), fragments)).toEqual(['one'])
})

test('texts: a column that is no longer text is left alone', () => {
  expect(shown(textIndexOf([textSegment('s', [fragment(1, 1000)])]), layoutOf([fragment(2, 10)]))).toBeNull()
})
