/** Compactions that are adapted to later deletions without waiting. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AddedDead, Change } from '../../src/manifest/change.js'
import type { Fragment } from '../../src/manifest/layout.js'
import type { RecentChange } from '../../src/manifest/recent-changes.js'
import { Bitset } from '../../src/primitives/bitset.js'
import type { MovedDraft } from '../../src/write/build-change.js'
import { type CarriedMove, type Compacted, withLaterDeletions } from '../../src/write/compact.js'
import { InlineRoom } from '../../src/write/inline-room.js'

/** A row of an old fragment. */
interface Row {
  readonly fragment: number
  readonly offset: number
}

/** Old fragments by their live rows, and the sizes of the new fragments. */
function compactionOf(live: readonly (readonly boolean[])[], sizes: readonly number[]) {
  const from = live.map(({ length }, i) => ({ id: 10 + i, rows: length }) as Fragment)
  const survivors = live.map(rows => {
    const bits = new Bitset(rows.length)
    for (const [offset, isLive] of rows.entries()) if (isLive) bits.add(offset)
    return bits
  })
  const moved = sizes.map(rows => ({ draft: { rows } }) as MovedDraft)
  const rows: Row[] = live.flatMap((own, i) =>
    own.flatMap((isLive, offset) => (isLive ? [{ fragment: 10 + i, offset }] : [])),
  )
  const compacted: Compacted = { from, survivors, moved }
  return { compacted, rows }
}

function untouched({ from, moved }: Compacted): CarriedMove {
  return { from, moved, gone: [], dead: new Map(), died: new Uint32Array() }
}

/** A change whose blobs are `blobs`. They begin at an odd address, as in a slot without alignment. */
function change(parts: Partial<Change>, blobs: readonly Uint32Array[] = []): RecentChange {
  const slot = {
    blob(index: number) {
      const bytes = new Uint8Array(blobs[index]!.buffer)
      const shifted = new Uint8Array(bytes.length + 1)
      shifted.set(bytes, 1)
      return shifted.subarray(1)
    },
  }
  const empty = { op: 'change', t: 't', v: 2, base: 1, kind: 'delete', add: [], dead: [], drop: [] } as const
  return { change: { ...empty, schema: null, next: { row: 0, frag: 0, field: 0 }, ...parts }, slot }
}

/** A change that deletes rows as a commit does: a fragment without live rows is dropped. */
function deletion(gone: readonly Row[], left: readonly Row[]): RecentChange {
  const dead: AddedDead[] = []
  const drop: number[] = []
  const blobs: Uint32Array[] = []
  for (const id of new Set(gone.map(({ fragment }) => fragment))) {
    const offsets = gone.filter(({ fragment }) => fragment === id).map(({ offset }) => offset)
    if (!left.some(({ fragment }) => fragment === id)) drop.push(id)
    else dead.push([id, { blob: blobs.push(Uint32Array.from(offsets)) - 1 }, offsets.length])
  }
  return change({ dead, drop }, blobs)
}

/** The numbers of the deleted rows, counted over all new fragments. */
function deadRows({ moved }: Compacted, { dead }: Pick<CarriedMove, 'dead'>): number[] {
  let first = 0
  return moved.flatMap(each => {
    const { content } = dead.get(each) ?? { content: { blob: new Uint8Array() } }
    const own = 'blob' in content ? [...new Uint32Array(content.blob.slice().buffer)] : []
    const rows = own.map(offset => first + offset)
    first += each.draft.rows
    return rows
  })
}

test('rows that later changes delete are deleted in the new fragments, and dropped fragments are gone', () => {
  const fragment = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }).filter(rows => rows.includes(true))
  const cases = fc.record({
    live: fc.array(fragment, { minLength: 1, maxLength: 6 }),
    cuts: fc.array(fc.nat(100), { maxLength: 2 }),
    picks: fc.array(fc.array(fc.nat(500), { minLength: 1, maxLength: 8 }), { maxLength: 12 }),
    known: fc.nat(6),
  })
  fc.assert(
    fc.property(cases, ({ live, cuts, picks, known }) => {
      const count = live.flat().filter(isLive => isLive).length
      const ends = [...new Set([...cuts.map(cut => 1 + (cut % count)), count])]
        .sort((a, b) => a - b)
        .slice(-live.length)
      const { compacted, rows } = compactionOf(
        live,
        ends.map((end, i) => end - (ends[i - 1] ?? 0)),
      )
      let left: readonly Row[] = rows
      const later: RecentChange[] = []
      for (const own of picks) {
        const gone = left.filter((_, i) => own.some(pick => pick % left.length === i))
        left = left.filter(row => !gone.includes(row))
        later.push(deletion(gone, left))
      }
      // The first changes were already taken into account, as `carriedOver` does.
      const first = later.slice(0, known)
      const early = withLaterDeletions(compacted, untouched(compacted), first, new InlineRoom())
      const move = early && { ...early, died: Uint32Array.from(deadRows(compacted, early)) }
      const result = move && withLaterDeletions(compacted, move, later.slice(known), new InlineRoom())
      const gone = compacted.from
        .map(({ id }) => id)
        .filter(id => !left.some(({ fragment }) => fragment === id))
      const hasPlaces =
        gone.length < compacted.from.length && ends.length <= compacted.from.length - gone.length
      if (!hasPlaces) {
        expect(result).toBe(null)
        return
      }
      expect(deadRows(compacted, result!)).toEqual(rows.flatMap((row, i) => (left.includes(row) ? [] : [i])))
      expect([...result!.gone].sort()).toEqual(gone)
    }),
    { numRuns: 300 },
  )
})

test('a later change that does more than delete a few rows ends the work, if it affects the old fragments', () => {
  const { compacted } = compactionOf(
    [
      [true, true],
      [true, false],
    ],
    [3],
  )
  const after = (later: RecentChange, room = new InlineRoom()) =>
    withLaterDeletions(compacted, untouched(compacted), [later], room)
  const file = { file: 'f', bytes: 1, crc: 0, fields: [1] }
  expect(after(change({ columns: [{ fragment: 10, file }] }))).toBe(null)
  expect(after(change({ columns: [{ fragment: 9, file }] }))).not.toBe(null)
  expect(after(change({ moves: [{ from: [[10, 2]], to: [20] }] }))).toBe(null)
  expect(after(change({ folded: [[11, 1, { file: 'f', bytes: 1, crc: 0 }]] }))).toBe(null)
  expect(after(change({ dead: [[10, { file: 'f', bytes: 1, crc: 0 }, 1]] }))).toBe(null)
  const few = change({ dead: [[10, { blob: 0 }, 1]] }, [Uint32Array.of(1)])
  expect(after(few)).not.toBe(null)
  const full = new InlineRoom(64 * 1024)
  expect(after(few, full)).toBe(null)
})
