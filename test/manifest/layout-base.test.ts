/** Stored manifests: the whole manifest, or the difference to an earlier one. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  applyChange,
  countRows,
  type DataFile,
  type Fragment,
  isShort,
  type Layout,
  linesOf,
  type RunsPlace,
} from '../../src/manifest/layout.js'
import {
  baseBefore,
  baseKey,
  basesOf,
  decodeBase,
  encodeBase,
  layoutOfBase,
} from '../../src/manifest/layout-base.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { emptyChange } from '../support/catalog.js'

const pacer = new Pacer()

/** The versions of all bases before a base, found by counting: what `baseBefore` says from digits. */
function beforeByCounting(number: number): number {
  let unit = 1
  while (number % (unit * 4) === 0) unit *= 4
  let before = number
  while (before % (unit * 4) !== 0) before -= unit
  return before
}

const place: fc.Arbitrary<RunsPlace> = fc.oneof(
  fc.record({ slot: fc.nat(3), blob: fc.nat(1) }),
  fc.record({ file: fc.constantFrom('a', 'b'), bytes: fc.constant(9), crc: fc.constant(7) }),
)
/** A blob never changes, and neither does a file. */
const file: fc.Arbitrary<DataFile> = fc.oneof(
  fc.tuple(fc.nat(3), fc.nat(1)).map(([slot, blob]): DataFile => {
    return { slot, blob, bytes: 8 + slot, schema: 1, fields: blob === 0 ? [1] : [2, 3] }
  }),
  fc.record({
    file: fc.constantFrom('x', 'y'),
    bytes: fc.constant(1),
    crc: fc.constant(2),
    fields: fc.constant([1]),
  }),
)

/** The fields in which two fragments with the same id may differ. */
const body = fc.record({
  files: fc.array(file, { minLength: 1, maxLength: 2 }),
  parts: fc.array(place, { maxLength: 2 }),
})

/** A manifest with some fragments of twelve, in any order; `rows` and ids depend on the id alone. */
function layoutArbitrary(version: number): fc.Arbitrary<Layout> {
  return fc
    .record({
      ids: fc.uniqueArray(fc.nat(11), { maxLength: 12 }),
      sorted: fc.boolean(),
      bodies: fc.array(body, { minLength: 12, maxLength: 12 }),
      schema: fc.constantFrom(1, 2),
      earlier: fc.boolean(),
    })
    .map(({ ids, sorted, bodies, schema, earlier }) => {
      const fragments = (sorted ? ids.sort((a, b) => a - b) : ids).map((id): Fragment => {
        const { files, parts } = bodies[id]!
        const zones =
          files[0] !== undefined && 'file' in files[0] ? { zones: { 1: [id, id, 0] as const } } : {}
        const ids =
          id % 4 === 3
            ? { file: `ids${id}`, bytes: 4, crc: 5, least: 1, greatest: 9, ...(id % 8 === 7 && unordered) }
            : { row0: 10 * id }
        return { id, rows: 5 + id, ids, files, dead: { parts, count: parts.length }, ...zones }
      })
      const schemaOf = (id: number) => ({ id, fields: [], metadata: {} })
      return {
        table: 't',
        version,
        schema: schemaOf(schema),
        earlier: earlier ? [schemaOf(9)] : [],
        fragments,
        indexes: [],
        next: { row: 1, frag: 2, field: 3 },
      }
    })
}

const unordered = { ascending: false } as const

/** The features in the first line of a stored manifest. */
function needOf(bytes: Uint8Array): unknown {
  const [head] = Buffer.from(bytes).toString().split('\n')
  return JSON.parse(`${head}]}`).need
}

describe('a stored manifest', () => {
  test('refers to the last base whose number has fewer digits other than 0', () => {
    expect([64, 128, 256, 320, 384, 1024, 1280, 1344].map(baseBefore)).toEqual([
      0, 0, 0, 256, 256, 0, 1024, 1280,
    ])
    for (let number = 1; number < 3000; number++) {
      expect(baseBefore(64 * number)).toBe(64 * beforeByCounting(number))
      expect(basesOf(64 * number).length).toBeLessThanOrEqual(Math.ceil(Math.log(number + 1) / Math.log(4)))
      // The base before is always one of those that the previous base needs. So garbage collection has kept it.
      if (baseBefore(64 * number) > 0) expect(basesOf(64 * (number - 1))).toContain(baseBefore(64 * number))
    }
    expect(baseBefore(65)).toBe(0)
  })

  test('of any difference gives the manifest', async () => {
    const [from, to] = [256, 320]
    await fc.assert(
      fc.asyncProperty(layoutArbitrary(from), layoutArbitrary(to), fc.boolean(), async (one, two, isNear) => {
        // Most fragments of the later version are those of the earlier one.
        const near = one.fragments.filter((_, i) => i % 3 > 0)
        const ids = new Set(near.map(({ id }) => id))
        const later = isNear
          ? { ...two, fragments: [...near, ...two.fragments.filter(({ id }) => !ids.has(id))] }
          : two
        const whole = await decodeBase(await encodeBase(one, null, pacer), 't', from, 'k', pacer).catch(
          cause => cause,
        )
        // A whole manifest is only read as such for a version that has no base before it.
        expect(layoutOfBase(whole, null, 'k')).toEqual(one)
        const part = await decodeBase(await encodeBase(later, one, pacer), 't', to, 'k', pacer)
        expect(layoutOfBase(part, one, 'k')).toEqual(later)
        if (isNear) expect(part.lines.length).toBeLessThanOrEqual(later.fragments.length - near.length + 12)
      }),
      { numRuns: 300 },
    )
  })

  test('needs the features of all fragments, also of those that it does not contain', async () => {
    const lengths = fc.tuple(fc.nat(30), fc.nat(30), fc.nat(30))
    await fc.assert(
      fc.asyncProperty(
        layoutArbitrary(256),
        layoutArbitrary(320),
        lengths,
        async (one, two, [kept, more, whole]) => {
          const before = { ...one, fragments: one.fragments.slice(0, whole) }
          const same = before.fragments.slice(0, kept)
          const ids = new Set(same.map(({ id }) => id))
          const added = two.fragments.filter(({ id }) => !ids.has(id)).slice(0, more)
          const later = { ...two, fragments: [...same, ...added] }
          // Encode both, because the second knows what was found in the first.
          for (const [layout, from] of [
            [before, null],
            [later, before],
          ] as const) {
            const isUnordered = layout.fragments.some(({ ids }) => 'ascending' in ids)
            expect(needOf(await encodeBase(layout, from, pacer))).toEqual(isUnordered ? ['moves'] : [])
          }
          const part = await decodeBase(await encodeBase(later, before, pacer), 't', 320, 'k', pacer)
          expect(layoutOfBase(part, before, 'k')).toEqual(later)
          expect(part.lines.length).toBeLessThanOrEqual(added.length)
        },
      ),
      { numRuns: 200 },
    )
  })

  test('gives the same manifests after any changes, whether its fragments are decoded or not', async () => {
    const added = (id: number) => {
      const files = [{ blob: 0, bytes: 8, fields: [1] }]
      return emptyChange('t', 0, { add: [{ id, rows: 3, ids: { row0: 0 }, files }] })
    }
    const step = fc.oneof(
      fc.constant((layout: Layout) => added(layout.version)),
      fc.nat(30).map(choice => (layout: Layout) => {
        const fragment = layout.fragments[choice % Math.max(1, layout.fragments.length)]
        if (fragment === undefined) return added(layout.version)
        const all = { drop: [fragment.id] }
        return emptyChange('t', 0, choice % 2 === 0 ? all : { dead: [[fragment.id, { blob: 1 }, 1]] })
      }),
      fc.constant((layout: Layout) => emptyChange('t', 0, { schema: { ...layout.schema, id: 3 } })),
    )
    await fc.assert(
      fc.asyncProperty(layoutArbitrary(64), fc.array(step, { maxLength: 6 }), async (one, steps) => {
        const stored = layoutOfBase(
          await decodeBase(await encodeBase(one, null, pacer), 't', 64, 'k', pacer),
          null,
          'k',
        )
        const versions: [Layout, Layout][] = [[one, stored]]
        for (const of of steps) {
          const [known, lazy] = versions.at(-1)!
          const { version } = known
          const change = { ...of(known), v: version + 1, base: version }
          versions.push([applyChange(known, change, version), applyChange(lazy, change, version)])
        }
        for (const [known, lazy] of versions) expect(countRows(lazy)).toBe(countRows(known))
        for (const [known, lazy] of versions.reverse()) expect(lazy).toEqual(known)
      }),
      { numRuns: 300 },
    )
  })

  test('is not decoded to count rows or to append, and later versions share its fragments', async () => {
    const fragments = Array.from({ length: 3 }, (_, id): Fragment => {
      const files = [{ slot: 1, blob: id, bytes: 8, schema: 1, fields: [1] }]
      return { id, rows: 2, ids: { row0: 2 * id }, files, dead: { parts: [], count: 0 } }
    })
    const next = { row: 6, frag: 3, field: 2 }
    const one = { version: 64, earlier: [], indexes: [], schema: { id: 1, fields: [] } }
    const encoded = await encodeBase({ table: 't', ...one, fragments, next }, null, pacer)
    const stored = layoutOfBase(await decodeBase(encoded, 't', 64, 'k', pacer), null, 'k')
    const add = [{ id: 3, rows: 5, ids: { row0: 6 }, files: [] }]
    const later = applyChange(stored, emptyChange('t', 65, { base: 64, add }), 9)
    expect([stored, later].map(countRows)).toEqual([6, 11])
    expect(linesOf(later).filter(isShort)).toHaveLength(3)
    expect(later.fragments[0]).toEqual(fragments[0])
    expect(stored.fragments[0]).toBe(later.fragments[0])
  })

  test('of 10,000 small commits has less than 50 bytes for each', async () => {
    const fragments = Array.from({ length: 10_000 }, (_, id): Fragment => {
      const files = [{ slot: id + 3, blob: 0, bytes: 216, schema: 1, fields: [0, 1] }]
      return { id, rows: 1, ids: { row0: id }, files, dead: { parts: [], count: 0 } }
    })
    const schema = { id: 1, fields: [], metadata: {} }
    const next = { row: 1, frag: 2, field: 3 }
    const layout = { table: 't', version: 64, schema, earlier: [], fragments, indexes: [], next }
    expect((await encodeBase(layout, null, pacer)).length).toBeLessThan(500_000)
  })

  test('whose edits do not fit is damaged', async () => {
    const one = fc.sample(layoutArbitrary(256), { seed: 1, numRuns: 9 })[8]!
    const count = one.fragments.length
    expect(count).toBeGreaterThan(2)
    const two = {
      ...one,
      version: 320,
      fragments: one.fragments.slice(1).map(each => ({ ...each, files: [] })),
    }
    const part = await decodeBase(await encodeBase(two, one, pacer), 't', 320, 'k', pacer)
    expect(part.edits).toEqual([[0, count, count - 1]])
    const wrong = [
      [[count + 1, 0, count - 1]],
      [[0, count, count]],
      [[0, count, count - 2]],
      [[0, count + 1, count - 1]],
      [
        [1, 1, 1],
        [1, 0, count - 2],
      ],
    ] as const
    for (const edits of wrong) {
      expect(() => layoutOfBase({ ...part, edits }, one, 'k')).toThrow(expect.objectContaining({ code: 18 }))
    }
    expect(baseKey('tables/t', 64)).toMatch(/^tables\/t\/_versions\/\d{20}\.manifest$/)
  })
})
