/**
 * Vector indexes that LanceDB 0.39.0 wrote: 400 rows, an index, a deletion, an update, 30 more rows. The tables `l2` and
 * `cosine` have IVF_PQ indexes with codes of 8 and of 4 bits; `cosine` has stable row ids. The table `flat` has an
 * IVF_FLAT index.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { connect, ErrorCode, type Namespace } from '../../src/index.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

const golden = join(import.meta.dirname, '../golden/lance-indexes')
const freshFolder = temporaryRoots()
const dimension = 16
const partitions = 4

interface Opened {
  readonly ns: Namespace
  readonly warnings: string[]
}

async function open(folder: string): Promise<Opened> {
  const warnings: string[] = []
  const onWarning = (message: string, cause: unknown) =>
    void warnings.push(`${message}: ${(cause as Error).message}`)
  return { ns: await connect(`lance+${pathToFileURL(folder)}`, { onWarning }), warnings }
}

/** Return a copy of the golden tables. */
function copied(): string {
  const folder = freshFolder()
  cpSync(golden, folder, { recursive: true })
  return folder
}

function indexFile(folder: string, table: string, name: string): string {
  const indexes = join(folder, `${table}.lance/_indices`)
  return join(indexes, readdirSync(indexes)[0]!, name)
}

const queries = Array.from({ length: 12 }, (_, q) =>
  Array.from({ length: dimension }, (_, i) => Math.sin((q % 12) * (i + 1)) + 0.3 * Math.cos(q * 7 + i)),
)

interface Row {
  readonly id: number
  readonly vector: ArrayLike<number> | null
}

function distance(metric: string, a: readonly number[], b: ArrayLike<number>): number {
  let [squares, product, norms, norm] = [0, 0, 0, 0]
  for (const [i, value] of a.entries()) {
    squares += (value - b[i]!) ** 2
    product += value * b[i]!
    norm += value * value
    norms += b[i]! * b[i]!
  }
  return metric === 'l2' ? squares : 1 - product / Math.sqrt(norm * norms)
}

/** Return the distances of all rows, ascending, computed row by row. */
function distances(rows: readonly Row[], metric: string, query: readonly number[]): number[] {
  const present = rows.flatMap(({ vector }) => (vector === null ? [] : [distance(metric, query, vector)]))
  return present.sort((a, b) => a - b)
}

async function rowsOf(ns: Namespace, name: string): Promise<readonly Row[]> {
  return (await (await ns.openTable(name)).query().toArray()) as unknown as readonly Row[]
}

describe.each(['l2', 'cosine'])('the index of the table %s', name => {
  test('finds the nearest rows, with deleted, updated and unindexed rows', async () => {
    const { ns, warnings } = await open(golden)
    const rows = await rowsOf(ns, name)
    const table = await ns.openTable(name)
    let found = 0
    for (const query of queries) {
      const expected = distances(rows, name, query)
      const near = await table.search(query).nprobes(partitions).refineFactor(30).limit(10).toArray()
      expect(new Set(near.map(({ id }) => id)).size).toBe(10)
      for (const [k, row] of near.entries()) expect(row._distance).toBeCloseTo(expected[k]!, 4)
      const few = await table.search(query).nprobes(1).refineFactor(1).limit(10).toArray()
      found += few.filter(row => (row._distance as number) <= expected[9]! + 1e-6).length
    }
    // The index proposes rows by their codes, so it does not find all of them.
    expect(found).toBeGreaterThan(50)
    expect(found).toBeLessThan(120)
    expect(warnings).toEqual([])
    await ns.close()
  })

  test('a limit above the number of rows gives all rows with a vector', async () => {
    const { ns } = await open(golden)
    const expected = distances(await rowsOf(ns, name), name, queries[1]!)
    const every = await (await ns.openTable(name)).search(queries[1]!).nprobes(1).limit(1000).toArray()
    expect(every.length).toBe(expected.length)
    for (const [k, row] of every.entries()) expect(row._distance).toBeCloseTo(expected[k]!, 4)
    await ns.close()
  })

  test('is in the plan, in the list of indexes and in the statistics', async () => {
    const { ns } = await open(golden)
    const table = await ns.openTable(name)
    const [index, ...others] = await table.listIndices()
    expect(others).toEqual([])
    expect(index).toMatchObject({
      name: 'vector_idx',
      type: 'IVF_PQ',
      columns: ['vector'],
      segments: 1,
      status: 'stale',
    })
    const { indexedRows, unindexedRows } = index!
    expect([indexedRows + unindexedRows, unindexedRows]).toEqual([
      await table.countRows(),
      name === 'l2' ? 48 : 30,
    ])
    expect(await table.indexStats('vector_idx')).toMatchObject({
      type: 'IVF_PQ',
      distanceType: name,
      status: 'stale',
    })
    const plan = await table.search(queries[0]!).nprobes(2).refineFactor(3).limit(5).explain()
    expect(plan).toContain('ANNSubIndex: name=vector_idx')
    expect(plan).toContain('partitions = 2..all, refine_factor = 3')
    expect(plan).toContain('unindexed rows measured')
    const exact = await table.search(queries[0]!).bypassVectorIndex().limit(5).explain()
    expect(exact).toContain('KNNVectorDistance: exact')
    expect(exact).toContain('not used: vector_idx: bypassVectorIndex')
    const other = await table
      .search(queries[0]!)
      .distanceType(name === 'l2' ? 'cosine' : 'l2')
      .limit(5)
      .explain()
    expect(other).toContain(`not used: vector_idx: its metric is ${name}`)
    await ns.close()
  })

  test('an earlier version uses the index that it had', async () => {
    const { ns } = await open(golden)
    const table = await ns.openTable(name)
    expect(await (await table.checkout(1)).listIndices()).toEqual([])
    const [index] = await (await table.checkout(2)).listIndices()
    expect(index).toMatchObject({ indexedRows: 400, unindexedRows: 0, status: 'ready' })
    await ns.close()
  })
})

describe('an index that cannot be used', () => {
  /** Check that the table answers exactly, and says why the index is not used. */
  async function expectExact(folder: string, name: string, metric: string, reason: string): Promise<void> {
    const { ns, warnings } = await open(folder)
    const rows = await rowsOf(ns, name)
    const table = await ns.openTable(name)
    for (const query of queries.slice(0, 3)) {
      const near = await table.search(query).nprobes(1).refineFactor(1).limit(10).toArray()
      const expected = distances(rows, metric, query)
      for (const [k, row] of near.entries()) expect(row._distance).toBeCloseTo(expected[k]!, 4)
    }
    const plan = await table.search(queries[0]!).limit(5).explain()
    expect(plan).toContain('KNNVectorDistance: exact')
    expect(plan).toContain(`not used: vector_idx: `)
    expect(plan).toContain(reason)
    expect(warnings.filter(text => text.includes('vector_idx')).length).toBeLessThanOrEqual(1)
    expect(await failure(table.search(queries[0]!).fastSearch().limit(5).toArray())).toMatchObject({
      code: ErrorCode.Unsupported,
      hint: expect.stringContaining('leave out fastSearch'),
    })
    await ns.close()
  }

  test('is named, if it is of another kind', async () => {
    const { ns, warnings } = await open(golden)
    await ns.openTable('flat').then(table => table.search(queries[0]!).limit(1).toArray())
    expect(warnings).toEqual([expect.stringContaining('Sheaf does not read IVF_FLAT indexes of LanceDB')])
    const [index] = await (await ns.openTable('flat')).listIndices()
    expect(index).toMatchObject({ name: 'vector_idx', type: 'IVF_FLAT', status: 'failed', indexedRows: 0 })
    await ns.close()
    // Without distanceType, the metric is that of the index, as in LanceDB.
    await expectExact(golden, 'flat', 'cosine', 'IVF_FLAT')
  })

  test('is named, if a file is missing', async () => {
    const folder = copied()
    rmSync(indexFile(folder, 'l2', 'auxiliary.idx'))
    await expectExact(folder, 'l2', 'l2', 'auxiliary.idx')
  })

  test('is named, if a file is damaged', async () => {
    const folder = copied()
    const path = indexFile(folder, 'l2', 'auxiliary.idx')
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.subarray(0, bytes.length - 1))
    await expectExact(folder, 'l2', 'l2', 'auxiliary.idx')
  })

  test('is named, if the files are those of another table', async () => {
    const folder = copied()
    cpSync(indexFile(golden, 'cosine', 'index.idx'), indexFile(folder, 'l2', 'index.idx'))
    await expectExact(folder, 'l2', 'cosine', 'the index has the metric cosine, but its codes have l2')
  })

  test('is named, if its format is newer', async () => {
    const folder = copied()
    const versions = join(folder, 'l2.lance/_versions')
    for (const name of readdirSync(versions).filter(each => each.endsWith('.manifest'))) {
      const bytes = readFileSync(join(versions, name))
      // The version (field 7) is followed by the time of the build (field 8).
      const at = bytes.indexOf(Buffer.from([7 << 3, 1, 8 << 3]))
      if (at >= 0) bytes[at + 1] = 2
      writeFileSync(join(versions, name), bytes)
    }
    await expectExact(folder, 'l2', 'l2', 'Sheaf does not know version 2 of IVF_PQ indexes')
  })

  test('is named, if it takes too much memory', async () => {
    const ns = await connect(`lance+${pathToFileURL(golden)}`, { cacheBytes: 1024, onWarning: () => {} })
    const plan = await (await ns.openTable('l2')).search(queries[0]!).limit(5).explain()
    expect(plan).toContain('not used: vector_idx: the index takes')
    await ns.close()
  })
})
