/**
 * A search in a store with the methods of object storage measures its candidates with the vectors beside the lists of an
 * index. Its answer is the one of a search that reads all candidates from the column.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Namespace, type Schema, sql } from '../../src/index.js'
import { BucketStore } from '../support/bucket-store.js'
import { failure } from '../support/failure.js'

const dim = 6
const maintenance = { compact: false } as const

interface World {
  readonly element: 'float32' | 'float16' | 'uint8'
  readonly metric: 'l2' | 'cosine' | 'dot'
  readonly index: 'IVF_PQ' | 'IVF_SQ' | 'IVF_RQ'
  readonly rows: number
  readonly seed: number
  readonly steps: readonly ('delete' | 'update' | 'add' | 'optimize')[]
  readonly searches: readonly {
    readonly k: number
    readonly refine: number
    readonly probes: number
    readonly where: string | null
    readonly row: number
  }[]
}

const world: fc.Arbitrary<World> = fc.record({
  element: fc.constantFrom('float32', 'float32', 'float16', 'uint8'),
  metric: fc.constantFrom('l2', 'cosine', 'dot'),
  index: fc.constantFrom('IVF_PQ', 'IVF_SQ', 'IVF_RQ'),
  rows: fc.integer({ min: 300, max: 900 }),
  seed: fc.nat(1000),
  steps: fc.array(fc.constantFrom('delete', 'update', 'add', 'optimize'), { maxLength: 4 }),
  searches: fc.array(
    fc.record({
      k: fc.constantFrom(1, 5, 20),
      refine: fc.constantFrom(1, 4, 20),
      probes: fc.constantFrom(1, 2, 8),
      where: fc.constantFrom(null, null, 'id % 3 = 1'),
      row: fc.nat(300),
    }),
    { minLength: 1, maxLength: 3 },
  ),
})

const elementTypes = {
  float32: { kind: 'float', bits: 32 },
  float16: { kind: 'float', bits: 16 },
  uint8: { kind: 'int', bits: 8, signed: false },
} as const

function schemaOf(element: World['element']): Schema {
  const child = { name: 'item', type: elementTypes[element], nullable: true }
  return {
    fields: [
      { name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
      { name: 'v', type: { kind: 'fixed_size_list', size: dim, child }, nullable: true },
    ],
  }
}

/** Rows of few points, so that many are equal; some are huge, denormal, zero or null. */
function vectorOf({ element, seed }: World, id: number): number[] | null {
  const point = (id * 13 + seed) % 61
  if (id % 53 === 7) return null
  return Array.from({ length: dim }, (_, i) => {
    const value = ((point * (i + 3) * 29 + (point >> (i % 4)) * 7) % 97) + (id % 5 === 0 ? (id + i) % 3 : 0)
    if (element === 'uint8') return value
    if (id % 41 === 1) return 0
    if (id % 37 === 2) return element === 'float16' ? value * 500 : value * 1e18
    if (id % 37 === 3) return element === 'float16' ? value * 2 ** -24 : value * 1e-41
    return (value - 40) / 8
  })
}

async function fill(ns: Namespace, made: World): Promise<void> {
  const rowsFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ id: first + i, v: vectorOf(made, first + i) }))
  // Rows in a file: 64 KiB of inline rows are not enough.
  const table = await ns.createTable('t', rowsFrom(0, made.rows), { schema: schemaOf(made.element) })
  await table.add(rowsFrom(made.rows, 3000))
  const { metric } = made
  const parameters = { partitions: 8, distanceType: metric, waitTimeoutMs: 60_000 } as const
  await table.createIndex('v', {
    type: made.index,
    ...(made.index === 'IVF_PQ' && { subVectors: 2 }),
    ...parameters,
  })
  let next = made.rows + 3000
  for (const step of made.steps) {
    if (step === 'delete') await table.delete(`id % 11 = ${next % 11}`)
    else if (step === 'update') await table.update({ id: sql`id + 100000` }, `id % 17 = ${next % 17}`)
    else if (step === 'add') await table.add(rowsFrom(next, 3000))
    else await ns.optimize()
    next += 3001
  }
}

async function answers(ns: Namespace, made: World): Promise<unknown[]> {
  const found: unknown[] = []
  for (const { k, refine, probes, where, row } of made.searches) {
    const query = vectorOf(made, row) ?? new Array(dim).fill(1)
    const search = ns.table('t').search(query).nprobes(probes).refineFactor(refine).limit(k).withRowId()
    found.push(await (where === null ? search : search.where(where)).toArray())
  }
  return found
}

/** Record the keys of the reads of ranges. */
function recordReads(store: BucketStore): string[] {
  const keys: string[] = []
  const readRanges = store.readRanges.bind(store)
  store.readRanges = (key, ranges, signal) => {
    keys.push(key)
    return readRanges(key, ranges, signal)
  }
  return keys
}

test('the answer is the one of a search that reads the column', async () => {
  let beside = 0
  await fc.assert(
    fc.asyncProperty(world, async made => {
      const store = new BucketStore()
      const keys = recordReads(store)
      const far = await connect('bucket', { store, maintenance })
      const near = await connect('memory://', { maintenance })
      await fill(far, made)
      await fill(near, made)
      const expected = await answers(near, made)
      expect(await answers(far, made)).toEqual(expected)
      // A new process has nothing in its cache. Another one has no room for it.
      for (const cacheBytes of [100_000_000, 1_000_000]) {
        const again = await connect('bucket', { store, readOnly: true, cacheBytes })
        expect(await answers(again, made)).toEqual(expected)
        await again.close()
      }
      // Only vectors beside lists are read in this way from the file of an index.
      beside += keys.filter(key => key.includes('/indexes/')).length
      await far.close()
      await near.close()
    }),
    { numRuns: 12 },
  )
  expect(beside).toBeGreaterThan(40)
})

test('a damaged vector beside the lists fails the search', async () => {
  const made: World = {
    element: 'float32',
    metric: 'l2',
    index: 'IVF_PQ',
    rows: 500,
    seed: 1,
    steps: [],
    searches: [{ k: 10, refine: 20, probes: 8, where: null, row: 3 }],
  }
  const store = new BucketStore()
  const ns = await connect('bucket', { store, maintenance })
  await fill(ns, made)
  await ns.close()
  let key = ''
  for await (const blob of store.list('tables/')) if (blob.key.includes('/indexes/')) key = blob.key
  const bytes = (await store.get(key))!
  const footer = Buffer.from(bytes).toString(
    'latin1',
    bytes.length - 16 - Buffer.from(bytes).readUInt32LE(bytes.length - 16),
  )
  const { sections } = JSON.parse(footer.slice(0, -16)) as {
    sections: { name: string; start: number; bytes: number }[]
  }
  for (const name of ['vectors', 'vectorSums']) {
    const section = sections.find(each => each.name === name)!
    const damaged = bytes.slice()
    for (let at = 0; at < section.bytes; at += 4) damaged[section.start + at]! ^= 1
    await store.replace(key, damaged)
    const again = await connect('bucket', { store, readOnly: true })
    expect(await failure(answers(again, made)), name).toMatchObject({ code: 18 })
    expect((await again.verify()).problems).not.toEqual([])
    await again.close()
  }
})
