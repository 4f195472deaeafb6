/** Which fragments are merged, told from sizes alone. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Fragment, Layout } from '../../src/manifest/layout.js'
import { type CompactionMode, planCompaction } from '../../src/write/compaction-plan.js'

const rowBytes = 100
const fullBytes = 256 * 1024 * 1024

function fragmentOf(id: number, rows: number, dead = 0, isInline = false): Fragment {
  const bytes = rows * rowBytes
  const file = isInline
    ? { slot: id, blob: 0, bytes, schema: 1, fields: [1] }
    : { file: `f${id}`, bytes, crc: 0, fields: [1] }
  const parts = Array.from({ length: Math.min(dead, 1) }, () => ({ slot: id, blob: 1 }))
  return { id, rows, ids: { row0: 0 }, files: [file], dead: { parts, count: dead } }
}

function layoutOf(fragments: readonly Fragment[]): Layout {
  const next = { row: 0, frag: 0, field: 0 }
  return { table: 't', version: 1, schema: { id: 1, fields: [] }, earlier: [], indexes: [], fragments, next }
}

/** The fragments after the plan was carried out, and how many rows that wrote. */
function carriedOut(fragments: readonly Fragment[], mode: CompactionMode, nextId: () => number) {
  const { groups } = planCompaction(layoutOf(fragments), mode, fullBytes)
  let after = fragments
  let written = 0
  for (const group of groups) {
    const at = after.indexOf(group[0]!)
    // They follow each other.
    expect(after.slice(at, at + group.length)).toEqual(group)
    const rows = group.reduce((sum, { rows, dead }) => sum + rows - dead.count, 0)
    written += rows
    const merged = rows === 0 ? [] : [fragmentOf(nextId(), rows)]
    after = [...after.slice(0, at), ...merged, ...after.slice(at + group.length)]
  }
  return { after, written }
}

const fragments = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 1_000_000 }), fc.double({ min: 0, max: 1, noNaN: true })), {
    maxLength: 60,
  })
  .map(sizes => sizes.map(([rows, dead], i) => fragmentOf(i, rows, Math.floor(rows * dead * dead))))

test('groups are consecutive and disjoint, and after some rounds there is nothing to do', () => {
  fc.assert(
    fc.property(fragments, fc.constantFrom<CompactionMode>('lazy', 'eager', 'thorough'), (all, mode) => {
      let id = 1000
      let now: readonly Fragment[] = all
      for (let round = 0; round < 50; round++) {
        const { after, written } = carriedOut(now, mode, () => id++)
        if (after === now) return
        expect(after.length < now.length || written > 0).toBe(true)
        now = after
      }
      expect.fail('it goes on for ever')
    }),
  )
})

test('100,000 appends of a row leave few fragments, and write each row a few times', () => {
  let id = 0
  let now: Fragment[] = []
  let written = 0
  let most = 0
  for (let i = 1; i <= 100_000; i++) {
    now.push(fragmentOf(id++, 1, 0, true))
    if (i % 64 !== 0) continue
    const round = carriedOut(now, 'lazy', () => id++)
    now = [...round.after]
    written += round.written
    most = Math.max(most, now.length)
  }
  expect(most).toBeLessThan(64)
  expect(written / 100_000).toBeLessThan(12)
})

test('a large fragment is left alone until a fifth of it is deleted', () => {
  const large = (dead: number) => layoutOf([fragmentOf(1, 600_000, dead)])
  expect(planCompaction(large(120_000), 'lazy', fullBytes).groups).toEqual([])
  expect(planCompaction(large(120_001), 'lazy', fullBytes).groups).toHaveLength(1)
})

test('a thorough compaction writes inline rows into a file, and leaves a lone small file alone', () => {
  expect(planCompaction(layoutOf([fragmentOf(1, 1, 0, true)]), 'thorough', fullBytes).groups).toHaveLength(1)
  expect(planCompaction(layoutOf([fragmentOf(1, 1)]), 'thorough', fullBytes).groups).toEqual([])
})

test('one commit does a bounded part of the work', () => {
  const many = Array.from({ length: 40 }, (_, i) => fragmentOf(i, 700_000, 300_000))
  const { groups, hasMore } = planCompaction(layoutOf(many), 'lazy', fullBytes)
  expect(hasMore).toBe(true)
  expect(groups.length).toBeGreaterThan(0)
  expect(groups.length).toBeLessThan(20)
})

test('many deletion vector parts become one', () => {
  const parts = Array.from({ length: 40 }, (_, slot) => ({ slot, blob: 0 }))
  const fragment = { ...fragmentOf(1, 600_000), dead: { parts, count: 40 } }
  expect(planCompaction(layoutOf([fragment]), 'lazy', fullBytes)).toEqual({
    groups: [],
    folds: [fragment],
    hasMore: false,
  })
})
