/** The life of vector indexes, with segments that keep what they are given, STORAGE S12. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import { connect, type DataType, type Namespace, type Schema, type Table } from '../../src/index.js'
import { foldIndexes } from '../../src/maintenance/fold-indexes.js'
import { filePath } from '../../src/manifest/file-names.js'
import { NumberRuns } from '../../src/primitives/number-runs.js'
import { Pacer } from '../../src/primitives/pacer.js'
import type { Engine } from '../../src/root/engine.js'
import { openVersion } from '../../src/root/open-table.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { openSectionFile } from '../../src/table/section-file.js'
import { failure } from '../support/failure.js'
import { fake, vectorsIn } from '../support/fake-vector-build.js'
import { openWithBuilder } from '../support/index-builds.js'
import { keysIn } from '../support/stores.js'

vi.mock('../../src/indexes/vector/build.js', () => import('../support/fake-vector-build.js'))

let root: Awaited<ReturnType<typeof openWithBuilder>>
let table: Table
beforeEach(async () => {
  fake.maxSegmentRows = 1_000_000
  fake.recall = null
  fake.built.length = 0
  root = await openWithBuilder()
  table = await root.ns.createTable('t', rowsFrom(0, 4), { vectorColumns: ['v'] })
})
afterEach(() => root.ns.close())

const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: first + i, text: 'x', v: [first + i, 1] }))

const shown = async (of: Table = table) =>
  (await of.listIndices()).map(({ name, type, status, indexedRows, unindexedRows }) => {
    return `${name} ${type} ${status} ${indexedRows}+${unindexedRows}`
  })

const create = (more: object = {}) =>
  root.ops.createTableIndex({ id: ['t'], column: 'v', index_type: 'IVF_PQ', ...more })

/** What the index has for each living row it covers, by row id. */
async function indexed(engine: Engine, dim: number, name = 't') {
  const { root: log, source } = engine
  const head = [...log.state.tables].map(([, head]) => head).find(({ id }) => id.join() === name)!
  const { layout, reader } = await openVersion(engine, head, head.mark)
  const found = new Map<number, readonly number[] | null>()
  for (const { file, bytes, crc, rows, cover } of layout.indexes.flatMap(({ segments }) => segments)) {
    const path = `${head.location}/${filePath('indexes', file)}`
    const vectors = await vectorsIn(await openSectionFile(source.store, path, { bytes, crc }), dim)
    expect(vectors).toHaveLength(rows)
    for (const { first, count, fragment: id, at, gone } of cover) {
      const fragment = layout.fragments.find(each => each.id === id)!
      const ids = await reader.rowIds(fragment)
      const runs =
        gone && NumberRuns.decode((await source.store.get(`${head.location}/rows/${gone.file}.runs`))!)
      for (let row = 0, offset = at; row < count; row++) {
        if (runs?.has(row)) continue
        found.set(Number(ids.at(offset++)), vectors[first + row]!)
      }
    }
  }
  return found
}

/** The vectors of a table as float32s, by row id. */
async function stored(of: Table) {
  const rows = await of.query().select(['v']).withRowId().toArray()
  return new Map(
    rows.map(({ _rowid, v }) => [Number(_rowid), v === null ? null : Array.from(v as number[], Math.fround)]),
  )
}

const needOf = async (slot: number) => (await root.engine.versions.slots.get(slot)).header.need

test('A-080 A-090 A-092 an index is requested, built, and described with its definition', async () => {
  fake.recall = 0.75
  const parameters = { num_sub_vectors: 2, num_bits: 4, sample_rate: 256 }
  const { transaction_id } = await create({ distance_type: 'Cosine', ...parameters })
  expect(await needOf(root.engine.root.head)).toEqual(['indexes', 'vector-indexes'])
  await table.waitForIndex('v_idx')
  expect(await needOf(root.engine.root.head)).toEqual(['indexes', 'vector-indexes'])
  expect(await root.ops.describeTransaction({ id: [transaction_id!] })).toMatchObject({ status: 'Succeeded' })
  const [record] = (await root.ops.listTableIndices({ id: ['t'] })).indexes
  expect(record).toMatchObject({
    columns: ['v'],
    status: 'ready',
    index_type: 'IVF_PQ',
    num_indexed_rows: 4,
    num_unindexed_rows: 0,
    num_segments: 1,
    type_url: '/lance.table.VectorIndexDetails',
  })
  expect(JSON.parse(record!.index_details!)).toEqual({ distance_type: 'cosine', ...parameters })
  expect(await table.indexStats('v_idx')).toEqual({
    type: 'IVF_PQ',
    distanceType: 'cosine',
    status: 'ready',
    indexedRows: 4,
    unindexedRows: 0,
    segments: 1,
    recall: 0.75,
  })
  expect(fake.built[0]!.spec).toEqual({
    kind: 'IVF_PQ',
    metric: 'cosine',
    parameters: { subVectors: 2, bits: 4, sampleRate: 256 },
  })
  expect(await indexed(root.engine, 2)).toEqual(await stored(table))
})

test('every kind is built from every vector type, as float32s or bytes', async () => {
  const types = [
    [{ kind: 'float', bits: 16 }, [0.5, -2]],
    [{ kind: 'float', bits: 32 }, [0.1, 3]],
    [{ kind: 'float', bits: 64 }, [0.1, 1e-3]],
    [{ kind: 'int', bits: 8, signed: false }, [7, 255]],
    [{ kind: 'int', bits: 8, signed: true }, [-128, 127]],
  ] as const
  for (const [n, [type, values]] of types.entries()) {
    const v: DataType = { kind: 'fixed_size_list', size: 2, child: { name: 'item', type, nullable: true } }
    const rows = [{ v: [...values] }, { v: null }, { v: [...values].reverse() }]
    const schema: Schema = { fields: [{ name: 'v', type: v, nullable: true }] }
    const of = await root.ns.createTable(`types${n}`, rows, { schema })
    await of.createIndex('v', { type: 'IVF_HNSW_SQ', waitTimeoutMs: 60_000 })
    expect(await indexed(root.engine, 2, `types${n}`)).toEqual(await stored(of))
    expect(await shown(of)).toEqual(['v_idx IVF_HNSW_SQ ready 3+0'])
  }
})

test('A-083 an equal definition changes nothing; another metric or parameter makes another index', async () => {
  const { begun, release } = root.builder.hold()
  const first = await create({ num_partitions: 2 })
  await begun
  expect(await create({ num_partitions: 2, distance_type: 'l2' })).toEqual(first)
  for (const other of [{}, { num_partitions: 3 }, { num_partitions: 2, distance_type: 'dot' }]) {
    expect(await failure(create({ ...other, replace: false }))).toMatchObject({
      code: 7,
      message: 'table "t" already has an index "v_idx": IVF_PQ on "v"',
    })
  }
  const second = await create({ num_partitions: 3, replace: true })
  expect(second.transaction_id).not.toBe(first.transaction_id)
  release()
  await table.waitForIndex('v_idx')
  expect(await create({ num_partitions: 3, replace: false })).toEqual({ index_name: 'v_idx' })
  await table.createIndex('v', { type: 'IVF_FLAT', waitTimeoutMs: 60_000 })
  expect(await shown()).toEqual(['v_idx IVF_FLAT ready 4+0'])
})

test('A-082 a name used by an index of another family is skipped', async () => {
  await table.createIndex('id', { name: 'v_idx', waitTimeoutMs: 60_000 })
  expect(await table.createIndex('v', { type: 'IVF_PQ' })).toEqual({ name: 'v_idx_2' })
  expect(await table.createIndex('v', { type: 'IVF_SQ' })).toEqual({ name: 'v_idx_2' })
})

test('a handle refuses parameters of scalar indexes, and passes on all those of vector indexes', async () => {
  // @ts-expect-error
  expect(await failure(table.createIndex('id', { type: 'BITMAP', efConstruction: 9 }))).toMatchObject({
    code: 13,
    message: 'createIndex: a BITMAP index has no use for efConstruction',
  })
  // @ts-expect-error
  expect(await failure(table.createIndex('v', { type: 'IVF_PQ', m: 9 }))).toMatchObject({
    code: 13,
    message: 'an IVF_PQ index has no use for m',
  })
  await table.createIndex('v', {
    type: 'IVF_HNSW_PQ',
    distanceType: 'dot',
    targetPartitionSize: 5,
    subVectors: 1,
    bits: 8,
    sampleRate: 3,
    maxIterations: 4,
    m: 6,
    efConstruction: 7,
    waitTimeoutMs: 60_000,
  })
  expect(fake.built[0]!.spec).toEqual({
    kind: 'IVF_HNSW_PQ',
    metric: 'dot',
    parameters: {
      targetPartitionSize: 5,
      subVectors: 1,
      bits: 8,
      sampleRate: 3,
      maxIterations: 4,
      m: 6,
      efConstruction: 7,
    },
  })
})

test('A-084 over HTTP the requests of LanceDB are understood as they are', async () => {
  const server = await serve(root.ns, { port: 0 })
  const remote = connectHttp(server.url)
  try {
    const usual = { metric_type: 'l2', sample_rate: 256, max_iterations: 50 }
    const requests = [
      { index_type: 'IVF_FLAT', ...usual, num_partitions: 2 },
      { index_type: 'IVF_PQ', ...usual, num_sub_vectors: 2, num_bits: 8 },
      { index_type: 'IVF_RQ', ...usual, num_bits: 1, num_partitions: null },
      { index_type: 'IVF_HNSW_SQ', ...usual, metric_type: 'cosine', m: 20, ef_construction: 300 },
      { index_type: 'IVF_SQ', ...usual, target_partition_size: 8192 },
      { index_type: 'IVF_PQ', metric_type: 'l2' },
    ]
    for (const request of requests) {
      const reply = await fetch(`${server.url}/v1/table/t/create_index/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ column: 'v', ...request }),
      })
      expect({ request, status: reply.status }).toEqual({ request, status: 200 })
      await table.waitForIndex('v_idx')
    }
    const far = await remote.openTable('t')
    await far.createIndex('v', { type: 'IVF_HNSW_FLAT', distanceType: 'cosine', waitTimeoutMs: 60_000 })
    expect(await far.indexStats('v_idx')).toMatchObject({ type: 'IVF_HNSW_FLAT', distanceType: 'cosine' })
  } finally {
    await remote.close()
    await server.close()
  }
})

test('dropping cancels a build, and earlier versions keep their indexes', async () => {
  const { begun, release } = root.builder.hold()
  const { transaction_id } = await create()
  await begun
  await table.dropIndex('v_idx')
  release()
  expect(await root.ops.describeTransaction({ id: [transaction_id!] })).toMatchObject({ status: 'Canceled' })
  await table.createIndex('v', { type: 'IVF_SQ', waitTimeoutMs: 60_000 })
  const version = await table.version()
  await table.dropIndex('v_idx')
  expect(await shown(await table.checkout(version))).toEqual(['v_idx IVF_SQ ready 4+0'])
  await table.restore(version)
  expect(await shown()).toEqual(['v_idx IVF_SQ ready 4+0'])
})

test('a renamed column keeps its index, a cast makes it useless, a dropped column loses it', async () => {
  await table.createIndex('v', { type: 'IVF_FLAT', waitTimeoutMs: 60_000 })
  await table.alterColumns({ v: { rename: 'w' } })
  expect(await table.listIndices()).toMatchObject([{ columns: ['w'], status: 'ready' }])
  await table.alterColumns({ w: { type: 'vector(2, float64)' } })
  expect(await shown()).toEqual(['v_idx IVF_FLAT stale 0+4'])
  await table.dropColumns(['w'])
  expect(await shown()).toEqual([])
})

test('a build that outlives its process continues in the next, and a checkpoint holds a failed build', async () => {
  root.builder.failure = new Error('no room')
  await table.createIndex('v', { type: 'IVF_FLAT' })
  await failure(table.waitForIndex('v_idx'))
  await root.ns.optimize()
  const [key] = await keysIn(root.store, '_ckpt/')
  const header = JSON.parse(
    Buffer.from((await root.store.get(key!))!)
      .toString()
      .split('\n')[0]!,
  )
  expect(header.need).toEqual(expect.arrayContaining(['indexes', 'vector-indexes']))
  root.builder.failure = null
  const { begun } = root.builder.hold()
  await table.createIndex('v', { type: 'IVF_FLAT' })
  await begun
  await root.ns.close()
  root = await openWithBuilder(root.store)
  table = await root.ns.openTable('t')
  await table.waitForIndex('v_idx')
  expect(await shown()).toEqual(['v_idx IVF_FLAT ready 4+0'])
})

// ---- maintenance

const nothingKept = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 }

async function upkept(
  rows: number,
  work: (ns: Namespace, table: Table, store: MemoryStore) => Promise<void>,
) {
  const store = new MemoryStore('memory://')
  const ns = await connect('memory://', { store, maintenance: nothingKept })
  try {
    const table = await ns.createTable('t', rowsFrom(0, rows), { vectorColumns: ['v'] })
    await table.createIndex('v', { type: 'IVF_FLAT', waitTimeoutMs: 60_000 })
    await work(ns, table, store)
    expect((await ns.verify()).problems).toEqual([])
  } finally {
    await ns.close()
  }
}

const indexFiles = async (store: MemoryStore) =>
  (await keysIn(store, 'tables/')).filter(key => key.includes('/indexes/'))

/** As `indexed`, of a root that others have open. */
async function found(store: MemoryStore) {
  const { ns, engine } = await openWithBuilder(store)
  await engine.root.refresh()
  const all = await indexed(engine, 2)
  await ns.close()
  return all
}

test('new rows are appended to the existing segment', () =>
  upkept(3000, async (ns, table, store) => {
    await table.add(rowsFrom(3000, 1000))
    expect(await shown(table)).toEqual(['v_idx IVF_FLAT stale 3000+1000'])
    await ns.optimize()
    expect(await shown(table)).toEqual(['v_idx IVF_FLAT ready 4000+0'])
    expect(fake.built.map(({ first, rows, extends: is }) => [first, rows, is])).toEqual([
      [0, 3000, false],
      [3000, 1000, true],
    ])
    expect(await indexFiles(store)).toHaveLength(1)
    expect(await found(store)).toEqual(await stored(table))
  }))

test('rows that a compaction dropped stay out of an extended segment, and their records survive GC', () =>
  upkept(2000, async (ns, table, store) => {
    await table.delete('id % 7 = 0')
    await ns.optimize()
    expect(fake.built).toHaveLength(1)
    await table.add(rowsFrom(2000, 300))
    // Swept, so no change may bring a file that is older; and nothing is compacted, so what is gone is as it was.
    const other = await openWithBuilder(store)
    const [uuid] = [...other.engine.root.state.tables.keys()]
    const { folded } = await foldIndexes(other.engine, uuid!, 'thorough', new Pacer())
    await other.ns.close()
    expect(folded).toMatchObject([{ index: 'v_idx', rows: 300 }])
    expect(fake.built[1]).toMatchObject({ first: 2000, rows: 300, extends: true })
    expect(await shown(table)).toEqual(['v_idx IVF_FLAT ready 2014+0'])
    expect(await found(store)).toEqual(await stored(table))
    await table.delete('id % 5 = 0')
    await ns.optimize()
    expect(fake.built[2]).toMatchObject({ first: 0, extends: false })
    expect(await found(store)).toEqual(await stored(table))
    await table.dropIndex('v_idx')
    await ns.optimize()
    expect(await indexFiles(store)).toEqual([])
  }))

test('a table larger than a segment has several; their results are reported as one figure', async () => {
  fake.maxSegmentRows = 700
  fake.recall = 0.5
  await upkept(1000, async (ns, table, store) => {
    expect(await found(store)).toEqual(await stored(table))
    fake.recall = 1
    await table.add(rowsFrom(1000, 400))
    await ns.optimize()
    const { segments, recall } = await table.indexStats('v_idx')
    expect(segments).toBe(2)
    expect(recall).toBe((700 * 0.5 + 700 * 1) / 1400)
    expect(await found(store)).toEqual(await stored(table))
  })
})

test('a flipped bit in any section is found by a verification', () =>
  upkept(600, async (ns, _, store) => {
    const [key] = await indexFiles(store)
    const bytes = (await store.get(key!))!
    for (const at of [64, 64 + 600 * 8 + 64, bytes.length - 40]) {
      const broken = bytes.slice()
      broken[at]! ^= 1
      await store.delete(key!)
      await store.put(key!, broken)
      expect((await ns.verify()).problems).toMatchObject([{ kind: 'index', path: key }])
    }
    await store.delete(key!)
    expect((await ns.verify()).problems).toMatchObject([{ kind: 'index', path: key }])
    await store.put(key!, bytes)
  }))
