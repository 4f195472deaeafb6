/** The life of indexes through every door. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Namespace, Table } from '../../src/index.js'
import type { Operations, Request } from '../../src/protocol/calls.js'
import { failure } from '../support/failure.js'
import type { Door, OpenedRoot } from '../support/transports.js'

const rows = [
  { id: 1n, text: 'a', at: new Date(0), tags: ['x'], vector: [1, 0], meta: { lang: 'en' }, ok: true },
  { id: 2n, text: null, at: new Date(1), tags: [], vector: [0, 1], meta: null, ok: false },
]

export function indexSuite({ name, open }: Door): void {
  describe(name, () => {
    let opened: OpenedRoot
    let ns: Namespace
    let ops: Operations
    let table: Table

    beforeEach(async () => {
      opened = await open()
      ns = opened.ns
      ops = ns.operations
      table = await ns.createTable('t', rows)
    })
    afterEach(() => opened.close())

    const create = (more: Partial<Request<'createTableIndex'>> = {}) =>
      ops.createTableIndex({ id: ['t'], column: 'id', index_type: 'BTREE', ...more })
    const names = async () => (await table.listIndices()).map(({ name }) => name)

    test('A-078 A-079 A-082 columns of each kind of values have suitable indexes', async () => {
      const made = [
        ['at', 'BTREE', 'at_idx'],
        ['id', 'BTREE', 'id_idx'],
        ['meta.lang', 'BTREE', 'meta.lang_idx'],
        ['ok', 'BITMAP', 'ok_idx'],
        ['tags', 'LABEL_LIST', 'tags_idx'],
        ['text', 'BITMAP', 'text_idx'],
        ['text', 'FTS', 'text_idx_2'],
      ] as const
      for (const [column, type, expected] of made) {
        expect(await table.createIndex(column, { type })).toEqual({ name: expected })
        const { indexedRows, unindexedRows } = await table.indexStats(expected)
        expect(indexedRows + unindexedRows).toBe(2)
      }
      const found = (await table.listIndices()).map(({ name, columns, type }) => [...columns, type, name])
      expect(found).toEqual(made)
    })

    test('a build is a job: it is listed, described, and can be cancelled until it has ended', async () => {
      const { transaction_id: id } = await create()
      await table.waitForIndex('id_idx')
      const [job] = (await ns.listJobs()).filter(job => job.id === id)
      const about = { type: 'create_index', state: 'finished', table: ['t'], createdAt: expect.any(Date) }
      expect(job).toEqual({ id, ...about })
      expect(await ops.describeJob({ job_id: id! })).toEqual({
        job_id: id,
        job_type: 'create_index',
        job_state: 'DONE',
        creation_ms: job!.createdAt.getTime(),
        spec: { index_name: 'id_idx', index_type: 'BTREE', columns: ['id'] },
      })
      expect(await ns.cancelJob(id!)).toBe(true)
      expect((await ns.listJobs()).find(job => job.id === id)!.state).toBe('finished')
      const tagged = await ops.createTableTag({ id: ['t'], tag: 'x', version: 1 })
      for (const wrong of [tagged.transaction_id!, 'nonsense']) {
        expect(await ns.cancelJob(wrong)).toBe(false)
        expect(await failure(ops.describeJob({ job_id: wrong }))).toMatchObject({
          code: 10,
          status: 404,
        })
      }
    })

    test('an index can be prewarmed if it exists, and there are no log-structured writes', async () => {
      await create()
      await ops.prewarmTableIndex({ id: ['t'], index_name: 'id_idx' })
      await ops.prewarmTable({ id: ['t'], columns: ['id', 'meta.lang'] })
      await ops.prewarmTable({ id: ['t'], columns: [] })
      expect(await ops.getTableLsmWriteSpec({ id: ['t'] })).toEqual({ lsm_write_spec: null })
      expect(await ops.getTableLsmStats({ id: ['t'] })).toEqual({ lsm_stats: null })
      const gone = { id: ['no'] }
      expect(await failure(ops.prewarmTableIndex({ id: ['t'], index_name: 'id_idy' }))).toMatchObject({
        code: 6,
        hint: 'did you mean "id_idx"?',
      })
      expect(await failure(ops.prewarmTable({ id: ['t'], columns: ['idd'] }))).toMatchObject({
        code: 12,
      })
      expect(await failure(ops.prewarmTable(gone))).toMatchObject({ code: 4 })
      expect(await failure(ops.getTableLsmWriteSpec(gone))).toMatchObject({ code: 4 })
      expect(await failure(ops.getTableLsmStats(gone))).toMatchObject({ code: 4 })
    })

    const refused: readonly (readonly [Partial<Request<'createTableIndex'>>, object])[] = [
      [{ id: ['no'] }, { code: 4, status: 404 }],
      [{ column: 'idd' }, { code: 12, status: 404, hint: 'did you mean "id"?' }],
      [{ column: 'meta.lag' }, { code: 12, hint: 'did you mean "meta.lang"?' }],
      [{ column: 'tags' }, { code: 13, status: 400, hint: 'use LABEL_LIST' }],
      [{ index_type: 'LABEL_LIST' }, { code: 13, hint: 'use BTREE or BITMAP' }],
      [{ column: 'meta' }, { code: 13, message: expect.stringContaining('struct<lang: utf8>') }],
      [{ column: 'vector', index_type: 'LABEL_LIST' }, { code: 13 }],
      [
        { column: 'vector' },
        {
          code: 13,
          message: expect.stringContaining('float32>[2]'),
          hint: expect.stringContaining('IVF_PQ'),
        },
      ],
      [
        { column: 'text', index_type: 'IVF_FLAT' },
        { code: 13, status: 400, hint: expect.stringContaining('fixed-size lists') },
      ],
      [
        { column: 'vector', index_type: 'IVF_PQ', distance_type: 'hamming' },
        { code: 13, status: 400, hint: 'use IVF_FLAT for hamming, or choose l2, cosine or dot' },
      ],
      [
        { column: 'vector', index_type: 'IVF_FLAT', distance_type: 'hamming' },
        { code: 13, status: 400, hint: 'use l2, cosine or dot' },
      ],
      [
        { column: 'vector', index_type: 'IVF_PQ', num_sub_vectors: 3 },
        {
          code: 13,
          message: 'subVectors (num_sub_vectors) must divide 2, the dimension of column "vector", got 3',
          hint: 'it may be 2',
        },
      ],
      [
        { column: 'vector', index_type: 'IVF_PQ', num_partitions: 5000 },
        {
          code: 13,
          message: expect.stringMatching(
            /^partitions \(num_partitions\) must be at most \d+, the rows of the table, got 5000$/,
          ),
        },
      ],
      [
        { column: 'vector', index_type: 'IVF_PQ', num_bits: 5 },
        { code: 13, message: 'bits (num_bits) of an IVF_PQ index must be 4 or 8, got 5' },
      ],
      [
        { column: 'vector', index_type: 'IVF_FLAT', num_partitions: 2, target_partition_size: 9 },
        { code: 13, message: expect.stringContaining('cannot both be set, got 2 and 9') },
      ],
      [
        { column: 'vector', index_type: 'IVF_SQ', m: 20 },
        {
          code: 13,
          message: 'an IVF_SQ index has no use for m',
          hint: 'leave it out; it is for IVF_HNSW_FLAT, IVF_HNSW_SQ, IVF_HNSW_PQ',
        },
      ],
      [{ index_type: 'FTS' }, { code: 13, status: 400, hint: expect.stringContaining('utf8') }],
      [
        { column: 'text', index_type: 'FTS', base_tokenizer: 'none' },
        { code: 13, message: expect.stringContaining('"none"') },
      ],
      [{ index_type: 'ZONE_MAP' }, { code: 0, message: expect.stringContaining('not supported yet') }],
      [{ branch: 'other' }, { code: 0 }],
      [{ name: '..' }, { code: 13 }],
    ]

    test('A-077 A-079 invalid requests are refused without effect', async () => {
      for (const [request, expected] of refused) {
        const error = await failure(create(request))
        expect({ request, error }).toMatchObject({ request, error: expected })
      }
      expect(await names()).toEqual([])
    })

    test('A-077 tables without rows of Sheaf have no indexes', async () => {
      await ops.declareTable({ id: ['d'] })
      expect(await failure(create({ id: ['d'] }))).toMatchObject({ code: 11 })
      expect(await failure(ops.listTableIndices({ id: ['d'] }))).toMatchObject({ code: 11 })
    })

    test('A-080 A-095 a call can wait for an index, and matches are the same before, with and after it', async () => {
      const found = async () =>
        (await table.query().where('id = 2').select(['id', 'ok']).toArray()).map(Object.values)
      const before = await found()
      await table.createIndex('id', { waitTimeoutMs: 60_000 })
      expect(await table.indexStats('id_idx')).toMatchObject({ status: 'ready', indexedRows: 2 })
      expect(await found()).toEqual(before)
      await table.createIndex('ok', { type: 'BITMAP' })
      await table.waitForIndex(['id_idx', 'ok_idx'], { timeoutMs: 60_000 })
      await table.dropIndex('id_idx')
      expect(await found()).toEqual(before)
    })

    test('a call can wait until an index covers all rows', async () => {
      await table.createIndex('id', { waitTimeoutMs: 60_000 })
      await table.add(Array.from({ length: 2000 }, (_, i) => ({ id: BigInt(i + 10) })))
      await table.waitForIndex('id_idx', { covers: 'all', timeoutMs: 60_000 })
      expect(await table.indexStats('id_idx')).toMatchObject({ status: 'ready', unindexedRows: 0 })
      await table.add([{ id: 5000n }])
      await table.waitForIndex('id_idx')
      const error = await failure(table.waitForIndex('id_idx', { covers: 'rows' } as never))
      expect(error.message).toContain('covers must be one of build, all')
    })

    test('A-084 a distance type for a scalar index is ignored', async () => {
      await create({ distance_type: 'cosine' })
      expect(await ops.describeTableIndexStats({ id: ['t'], index_name: 'id_idx' })).toMatchObject({
        index_type: 'BTREE',
        distance_type: null,
      })
    })

    test('A-085 the options of a text index are reported', async () => {
      await table.createIndex('text', { type: 'FTS', language: 'Danish', stem: false, waitTimeoutMs: 60_000 })
      const [{ index_details, ...record } = {}] = (await ops.listTableIndices({ id: ['t'] })).indexes
      expect(record).toMatchObject({ index_type: 'FTS', status: 'ready', num_indexed_rows: 2 })
      expect(JSON.parse(index_details!)).toMatchObject({
        base_tokenizer: 'simple',
        language: 'Danish',
        stem: false,
        max_token_length: 40,
        min_ngram_length: 3,
      })
      expect(await table.indexStats('text_idx')).toMatchObject({ type: 'FTS', distanceType: null })
      await table.dropIndex('text_idx')
      expect(await names()).toEqual([])
    })

    test('A-083 the same name again', async () => {
      await table.createIndex('id')
      await table.createIndex('id', { replace: false })
      expect(await failure(table.createIndex('id', { type: 'BITMAP', replace: false }))).toMatchObject({
        code: 7,
      })
      expect(await failure(create({ index_type: 'BITMAP' }))).toMatchObject({ code: 7, status: 409 })
      expect(await table.createIndex('text', { name: 'id_idx' })).toEqual({ name: 'id_idx' })
      expect(await names()).toEqual(['id_idx'])
    })

    test('A-090 A-092 A-094 listed in pages by name, described by name, and gone when dropped', async () => {
      for (const column of ['text', 'id', 'ok']) await table.createIndex(column)
      const pages: string[][] = []
      for (let page: { page_token?: string | undefined } = {}; ; ) {
        const { indexes, ...next } = await ops.listTableIndices({ id: ['t'], limit: 2, ...page })
        pages.push(indexes.map(({ index_name }) => index_name))
        page = next
        if (page.page_token === undefined) break
      }
      expect(pages).toEqual([['id_idx', 'ok_idx'], ['text_idx']])
      const before = await table.version()
      await table.dropIndex('ok_idx')
      expect(await table.version()).toBeGreaterThan(before)
      expect(await names()).toEqual(['id_idx', 'text_idx'])
      for (const call of [
        () => table.dropIndex('ok_idx'),
        () => table.indexStats('ok_idx'),
        () => table.waitForIndex('ok_idx'),
      ]) {
        expect(await failure(call())).toMatchObject({ code: 6, status: 404 })
      }
      expect(await failure(table.dropIndex('id_ix'))).toMatchObject({ hint: 'did you mean "id_idx"?' })
      expect(await failure(ops.listTableIndices({ id: ['t'], page_token: 'no' }))).toMatchObject({ code: 13 })
    })

    test('A-091 an old version has the indexes it had, and gets no others', async () => {
      const old = await table.checkout(1)
      await table.createIndex('id')
      expect(await old.listIndices()).toEqual([])
      expect(await failure(old.indexStats('id_idx'))).toMatchObject({ code: 6 })
      for (const call of [
        () => old.createIndex('id'),
        () => old.dropIndex('id_idx'),
        () => old.waitForIndex('id_idx'),
      ]) {
        expect(await failure(call())).toMatchObject({ code: 13 })
      }
      expect(await failure(ops.listTableIndices({ id: ['t'], version: 99 }))).toMatchObject({ code: 11 })
    })

    test('a handle addresses the indexes of its table, also after a rename', async () => {
      await ns.renameTable('t', 'u')
      await table.createIndex('id')
      expect(await names()).toEqual(['id_idx'])
      await ns.dropTable('u')
      for (const call of [
        () => table.createIndex('id'),
        () => table.listIndices(),
        () => table.dropIndex('id_idx'),
      ]) {
        expect(await failure(call())).toMatchObject({ code: 4 })
      }
    })
  })
}
