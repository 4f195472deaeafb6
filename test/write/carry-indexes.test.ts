/** Through any compactions a row that an index numbers is found where it lies. */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { ScalarProbe } from '../../src/indexes/scalar/probe.js'
import type { Fragment, Layout } from '../../src/manifest/layout.js'
import { changedIndexes, type TableIndex } from '../../src/manifest/table-index.js'
import { Bitset } from '../../src/primitives/bitset.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Memory } from '../../src/primitives/memory.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { RowSet } from '../../src/primitives/row-set.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { indexReaders } from '../../src/table/table-index.js'
import { createTableSource } from '../../src/table/table-source.js'
import { vectorIndexReaders } from '../../src/table/vector-index.js'
import type { MovedDraft } from '../../src/write/build-change.js'
import { carriedIndexes, movedIndexes } from '../../src/write/carry-indexes.js'
import type { Compacted } from '../../src/write/compact.js'

// A segment that finds the rows it is asked for by number.
vi.mock('../../src/indexes/scalar/open-segment.js', () => ({
  openSegment: (_: unknown, rows: number) => ({
    rows,
    estimate: async () => rows,
    find: async ({ values }: Extract<ScalarProbe, { kind: 'members' }>) =>
      RowSet.of(rows, Uint32Array.from(values as readonly number[])),
  }),
}))

const location = 'tables/t'
const column = { id: 1, name: 'x', type: { kind: 'bool' }, nullable: true } as const

/** A fragment whose rows the model knows by what they are called. */
interface Known {
  readonly fragment: Fragment
  readonly names: readonly number[]
}

function fragmentOf(id: number, rows: number): Fragment {
  const files = [{ file: `f${id}`, bytes: 1, crc: 1, fields: [column.id] }]
  return { id, rows, ids: { row0: 0 }, files, dead: { parts: [], count: 0 } }
}

const compaction = fc.record({
  first: fc.nat(),
  count: fc.integer({ min: 1, max: 4 }),
  /** By row, whether it lives. */
  lives: fc.infiniteStream(fc.boolean()),
  /** Rows of the new fragments. */
  cut: fc.integer({ min: 1, max: 9 }),
})

test('an index finds the remaining rows at their new positions', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 }),
      fc.infiniteStream(fc.nat(3)),
      fc.array(compaction, { maxLength: 5 }),
      async (sizes, choices, compactions) => {
        const store = new MemoryStore()
        const source = createTableSource(store, { get: async () => expect.fail() }, new Memory(1e9))
        source.footers.keep(`${location}/indexes/s.arrow`, { schema: { fields: [] }, batches: [] } as never)
        let next = 0
        let name = 0
        let known: Known[] = sizes.map(rows => ({
          fragment: fragmentOf(next++, rows),
          names: Array.from({ length: rows }, () => name++),
        }))
        // Of each fragment all rows are numbered, or those from some row on, or none.
        const cover: TableIndex['segments'][number]['cover'][number][] = []
        const numbered: number[] = []
        for (const { fragment, names } of known) {
          const choice = choices.next().value!
          const at = choice === 3 ? Math.floor(names.length / 2) : 0
          if (choice === 0 || at === names.length) continue
          const own = names.slice(at)
          cover.push({
            first: numbered.length,
            count: own.length,
            fragment: fragment.id,
            at,
            file: `f${fragment.id}`,
          })
          numbered.push(...own)
        }
        const segment = { file: 's', bytes: 1, crc: 1, rows: numbered.length, cover }
        let index: TableIndex = { name: 'i', uuid: 'u', kind: 'BTREE', field: 1, ts: 0, segments: [segment] }
        const layout = (): Layout => ({
          table: 't',
          version: 1,
          schema: { id: 1, fields: [column] },
          earlier: [],
          fragments: known.map(({ fragment }) => fragment),
          indexes: [index],
          next: { row: 0, frag: next, field: 2 },
        })
        const check = async () => {
          const [reader] = indexReaders(source, location, layout())
          const where = new Map(known.map(({ fragment, names }) => [fragment.id, names]))
          const living = new Set(known.flatMap(({ names }) => names))
          for (const asked of [[...numbered.keys()], ...[...numbered.keys()].map(ordinal => [ordinal])]) {
            const found = await reader!.find({ kind: 'members', values: asked }, new Pacer())
            const names = [...found].flatMap(([id, rows]) =>
              [...rows.toIndices()].map(row => where.get(id)![row]!),
            )
            const expected = asked.map(ordinal => numbered[ordinal]!).filter(each => living.has(each))
            expect(names.sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b))
          }
          const spec = { kind: 'IVF_FLAT', vector: { metric: 'l2' } } as const
          const near = { ...layout(), indexes: [{ ...index, ...spec }] }
          for (const own of vectorIndexReaders(source, location, near)[0]!.segments) {
            const placed = await own.place(Uint32Array.from(numbered.keys()))
            const found = placed.flatMap(({ fragment, offsets }) =>
              [...offsets].map(row => where.get(fragment.id)![row]!),
            )
            const expected = numbered.filter(each => living.has(each))
            expect(found.sort((a, b) => a - b)).toEqual(expected)
            // Every other row, by where it is now.
            const isChosen = (name: number) => name % 2 === 0
            const chosen = ({ id, rows }: Fragment) => {
              const offsets = [...where.get(id)!.keys()].filter(row => isChosen(where.get(id)![row]!))
              return RowSet.of(rows, Uint32Array.from(offsets))
            }
            const ordinals = (await own.ordinalsOf(chosen, new Pacer())).toIndices()
            expect([...ordinals].map(ordinal => numbered[ordinal]!)).toEqual(expected.filter(isChosen))
          }
          for (const { fragment, names } of known) {
            const covered = [...reader!.covered(fragment).toIndices()].map(row => names[row]!)
            expect(covered).toEqual(names.filter(each => numbered.includes(each)))
          }
        }
        await check()
        for (const { first, count, lives, cut } of compactions) {
          const from = known.slice(first % known.length, (first % known.length) + count)
          const survivors = from.map(({ names }) => {
            const living = new Bitset(names.length)
            for (const row of names.keys()) if (lives.next().value) living.add(row)
            return living
          })
          const left = from.flatMap(({ names }, i) => names.filter((_, row) => survivors[i]!.has(row)))
          const added: Known[] = []
          const ids = new Map<MovedDraft, number>()
          const moved: MovedDraft[] = []
          for (let at = 0; at < left.length; at += cut) {
            const names = left.slice(at, at + cut)
            const draft = {
              draft: {
                rows: names.length,
                content: { file: `f${next}`, bytes: 1, crc: 1 },
                zones: new Map(),
              },
              ids: { row0: 0 },
            }
            moved.push(draft)
            ids.set(draft, next)
            added.push({ fragment: fragmentOf(next++, names.length), names })
          }
          const compacted: Compacted = { from: from.map(({ fragment }) => fragment), survivors, moved }
          const target = { store, clock: systemClock, location, birth: 0 }
          const carried = await carriedIndexes(source, layout(), [compacted], target, new Pacer())
          index = changedIndexes(
            [index],
            movedIndexes(carried, draft => ids.get(draft)!),
          )[0]!
          known = known.flatMap(each => (each === from[0] ? added : from.includes(each) ? [] : [each]))
          if (known.length === 0) break
          await check()
        }
      },
    ),
    { numRuns: 150 },
  )
})
