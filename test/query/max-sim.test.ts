/** Rows that hold lists of vectors, found by one query of several. */
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect, type DataType, type Namespace, type Row, type Schema } from '../../src/index.js'
import { distancesPlain } from '../../src/kernels/exact-plain.js'
import type { Metric } from '../../src/kernels/metric.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { failure } from '../support/failure.js'

const float32: DataType = { kind: 'float', bits: 32 }
const uint8: DataType = { kind: 'int', bits: 8, signed: false }

function listsOf(element: DataType, size: number, large = false): Schema {
  const item = { name: 'item', type: element, nullable: true }
  const vectors = {
    name: 'item',
    type: { kind: 'fixed_size_list', size, child: item },
    nullable: true,
  } as const
  return {
    fields: [
      { name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
      { name: 'x', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
      { name: 'vs', type: { kind: 'list', large, child: vectors }, nullable: true },
    ],
  }
}

let ns: Namespace
beforeEach(async () => {
  ns = await connect('memory://', { store: new MemoryStore('memory://') })
})
afterEach(() => ns.close())

type Vectors = readonly (ArrayLike<number> | null)[] | null

/** A row's distance by the book; undefined where it has no vector. */
function distanceOf(
  vectors: Vectors,
  queries: readonly ArrayLike<number>[],
  metric: Metric,
  kind: 'f32' | 'u8',
) {
  const whole = (vectors ?? []).filter(vector => vector !== null)
  if (whole.length === 0) return undefined
  const dim = queries[0]!.length
  const values = (kind === 'u8' ? Uint8Array : Float32Array).from(whole.flatMap(vector => Array.from(vector)))
  const rows = { kind, dim, rows: whole.length, values } as const
  const least = queries.map(query => Math.min(...distancesPlain(rows, Float32Array.from(query), metric)))
  return Math.fround(least.reduce((sum, distance) => sum + distance, 0))
}

test('A-042 A-046 the rows nearest to all vectors of a query are found, for any rows', async () => {
  const vector = fc.array(fc.nat(3), { minLength: 2, maxLength: 2 })
  const vectors = fc.option(fc.array(fc.option(vector, { nil: null, freq: 6 }), { maxLength: 4 }), {
    nil: null,
    freq: 6,
  })
  const shape = fc.record({
    metric: fc.constantFrom<Metric>('l2', 'cosine', 'dot', 'hamming'),
    large: fc.boolean(),
    batches: fc.array(fc.array(vectors, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 3 }),
    queries: fc.array(vector, { minLength: 1, maxLength: 3 }),
    dead: fc.integer({ min: 2, max: 6 }),
    filter: fc.option(fc.nat(2), { nil: undefined }),
    optimize: fc.boolean(),
    k: fc.integer({ min: 1, max: 40 }),
    offset: fc.nat(3),
    bounds: fc.option(fc.tuple(fc.integer({ min: -3, max: 3 }), fc.nat(6)), { nil: undefined }),
  })
  let run = 0
  await fc.assert(
    fc.asyncProperty(shape, async drawn => {
      const { metric, large, batches, queries, dead, filter, optimize, k, offset, bounds } = drawn
      const schema = listsOf(metric === 'hamming' ? uint8 : float32, 2, large)
      const table = await ns.createTable(`t${run++}`, [], { schema })
      const rows: { readonly id: number; readonly x: number; readonly vs: Vectors }[] = []
      for (const batch of batches) {
        const some = batch.map((vs, i) => ({ id: rows.length + i, x: (rows.length + i) % 3, vs }))
        rows.push(...some)
        await table.add(some)
      }
      await table.delete(`id % ${dead} = 1`)
      if (optimize) await ns.optimize()
      let search = table.search(queries).distanceType(metric).select(['id']).limit(k).offset(offset)
      if (filter !== undefined) search = search.where(`x = ${filter}`)
      if (bounds !== undefined) search = search.distanceRange(bounds[0], bounds[0] + bounds[1])
      const found = (await search.toArray()).map(({ id, _distance }) => [id, _distance])

      const expected = rows
        .filter(({ id, x }) => id % dead !== 1 && (filter === undefined || x === filter))
        .flatMap(({ id, vs }) => {
          const distance = distanceOf(vs, queries, metric, metric === 'hamming' ? 'u8' : 'f32')
          return distance === undefined ? [] : [{ id, distance }]
        })
        .filter(
          ({ distance }) =>
            bounds === undefined || (distance >= bounds[0] && distance < bounds[0] + bounds[1]),
        )
        .sort((a, b) => a.distance - b.distance || a.id - b.id)
        .slice(offset, offset + k)
      expect(found).toEqual(expected.map(({ id, distance }) => [id, distance]))
    }),
    { numRuns: 25 },
  )
})

test('more vectors than are measured at once, and one row with more than that', async () => {
  const size = 64
  const table = await ns.createTable('t', [], { schema: listsOf(float32, size) })
  const vectorAt = (at: number) => Float32Array.from({ length: size }, (_, i) => (i === 0 ? at : 0))
  const lengths = [3, 1500, 0, 1, ...Array.from({ length: 600 }, (_, i) => i % 5)]
  let next = 0
  const rows = lengths.map((length, id) => ({ id, x: 0, vs: Array.from({ length }, () => vectorAt(next++)) }))
  await table.add(rows)
  const queries = [0, 1502, 1503].map(vectorAt)
  const found = await table.search(queries).distanceType('l2').limit(2000).select(['id']).toArray()
  const expected = rows.flatMap(({ id, vs }) => {
    const distance = distanceOf(vs, queries, 'l2', 'f32')
    return distance === undefined ? [] : [{ id, _distance: distance }]
  })
  expect(found).toEqual(expected.sort((a, b) => a._distance - b._distance || a.id - b.id))
  // Vectors 3 to 1502 are those of row 1, and 1503 is the only one of row 3.
  expect(found[0]).toEqual({ id: 1, _distance: 3 ** 2 + 0 + 1 })
})

test('rows from before the column was added are not found, and a row beyond float32 is found last', async () => {
  const table = await ns.createTable<Row>('t', [{ id: 1 }, { id: 2 }])
  const { type } = listsOf(float32, 2).fields[2]!
  await table.addColumns({ vs: { type } })
  const near = table
    .search([
      [3e38, -3e38],
      [3e38, 0],
    ])
    .distanceType('dot')
    .select(['id'])
  expect(await near.toArray()).toEqual([])
  await table.add([
    { id: 3, vs: [[3e38, 3e38]] },
    { id: 4, vs: [[1, 1]] },
  ])
  expect(await near.toArray()).toEqual([
    { id: 4, _distance: Math.fround(-3e38) },
    { id: 3, _distance: Infinity },
  ])
})

describe('a query on lists of vectors', () => {
  beforeEach(async () => {
    await ns.createTable(
      'docs',
      [
        {
          id: 1,
          vs: [
            [1, 0],
            [0, 2],
          ],
        },
        { id: 2, vs: [[1, 1]] },
        { id: 3, vs: [] },
        { id: 4, vs: null },
      ],
      { vectorColumns: ['vs'] },
    )
  })

  test('is by cosine by default, and explained so', async () => {
    const docs = await ns.openTable('docs')
    const found = await docs
      .search([
        [3, 0],
        [0, 1],
      ])
      .select(['id'])
      .toArray()
    expect(found).toEqual([
      { id: 1, _distance: 0 },
      { id: 2, _distance: expect.closeTo(2 - Math.SQRT2, 6) },
    ])
    expect(await docs.search([1, 0]).select(['id']).toArray()).toMatchObject([
      { id: 1, _distance: 0 },
      { id: 2 },
    ])
    expect(
      await docs
        .search([
          [1, 0],
          [0, 1],
        ])
        .explain(),
    ).toContain('KNNVectorDistance: exact, "vs", cosine, k = 10, max-sim of 2 vectors')
    expect(await docs.search([[1, 0]]).analyze()).toMatch(/exact=3, search=exact\]/)
  })

  test('of several vectors has distances from 0 on by cosine, and distanceRange bounds them', async () => {
    const docs = await ns.openTable('docs')
    const near = docs
      .search([
        [1, 0],
        [0, 1],
      ])
      .select(['id'])
    expect(await near.distanceRange(0, 0.2).toArray()).toEqual([{ id: 1, _distance: 0 }])
    expect(await near.distanceRange(0.2, 1).toArray()).toMatchObject([{ id: 2 }])
    expect(await near.distanceRange(undefined, 0).toArray()).toEqual([])
  })

  test('is refused if it fits no column', async () => {
    const docs = await ns.openTable('docs')
    expect(await failure(docs.search([[1, 0, 0]]).toArray())).toMatchObject({
      code: 13,
      message: 'no vector column has dimension 3: "vs" has 2',
    })
    expect(await failure(docs.search([[1, 0], [1]]).toArray())).toMatchObject({ code: 13 })
    expect(
      await failure(
        docs
          .search([[1, 0]])
          .distanceType('hamming')
          .toArray(),
      ),
    ).toMatchObject({
      code: 13,
      hint: 'use l2, cosine or dot',
    })
    const two = await ns.createTable('two', [{ v: [1, 2], vs: [[1, 2]] }], { vectorColumns: ['v', 'vs'] })
    expect(await failure(two.search([[1, 2]]).toArray())).toMatchObject({ code: 13 })
    expect(
      await two
        .search([[1, 2]])
        .column('vs')
        .select(['v'])
        .toArray(),
    ).toMatchObject([{ _distance: 0 }])
    expect(
      await two
        .search([[1, 2]])
        .column('v')
        .select(['v'])
        .toArray(),
    ).toMatchObject([{ query_index: 0 }])
  })

  test('can be ordered and grouped: it is one', async () => {
    const docs = await ns.openTable('docs')
    const near = docs
      .search([
        [1, 0],
        [0, 1],
      ])
      .distanceRange(0)
    expect(await near.select({ n: 'count(*)' }).toArray()).toEqual([{ n: 2 }])
    expect((await near.select(['id']).orderBy('id').toArray()).map(({ id }) => id)).toEqual([1, 2])
  })
})
