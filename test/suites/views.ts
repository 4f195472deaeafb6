/** Materialized views through every door. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { concatChunks, encodeIpcStream } from '../../src/arrow/encode-ipc.js'
import type { Field } from '../../src/arrow/types.js'
import type { Namespace, Row, Table } from '../../src/index.js'
import type { Operations, Request } from '../../src/protocol/calls.js'
import { failure } from '../support/failure.js'
import type { Door, OpenedRoot } from '../support/transports.js'

const rows: readonly Row[] = [
  { id: 1n, n: 10n, text: 'one' },
  { id: 2n, n: 20n, text: null },
  { id: 3n, n: 30n, text: 'three' },
]
const int64 = { kind: 'int', bits: 64, signed: true } as const
const isView = { code: 19, status: 409 }

export const schemaText = (...fields: Field[]) =>
  Buffer.from(concatChunks(encodeIpcStream({ fields }, []))).toString('base64')

/** The view `v`: rows of `t` with n above 10. */
export const viewRequest = (at: readonly string[] = []): Request<'createMaterializedView'> => ({
  id: [...at, 'v'],
  kind: 'query',
  source_query: JSON.stringify({
    table: [...at, 't'],
    columns: { id: 'id', twice: 'n * 2' },
    filter: 'n > 10',
  }),
  output_schema: schemaText(
    { name: 'id', type: int64, nullable: true },
    { name: 'twice', type: int64, nullable: true },
  ),
})

export async function jobEnd(ops: Operations, id: string) {
  for (;;) {
    const { status, properties } = await ops.describeTransaction({ id: [id] })
    if (status !== 'Queued' && status !== 'Running') return { status, ...properties }
    await new Promise(setImmediate)
  }
}

export function viewsSuite({ name, open }: Door): void {
  describe(name, () => {
    let opened: OpenedRoot
    let ns: Namespace
    let ops: Operations
    let source: Table

    beforeEach(async () => {
      opened = await open()
      ns = opened.ns
      ops = ns.operations
      source = await ns.createTable('t', rows)
    })
    afterEach(() => opened.close())

    const shown = async (view: Table) => {
      const found = await view.query().withRowId().orderBy('id').toArray()
      return found.map(row => Object.values(row))
    }
    const created = (options: object = {}) =>
      ns.createView('v', {
        source: 't',
        columns: { id: 'id', twice: 'n * 2' },
        where: 'n > 10',
        ...options,
      })

    test('A-160 a view shows the result of its query, and follows its source under the same row ids', async () => {
      const view = await created()
      expect(await view.version()).toBe(2)
      expect(await shown(view)).toEqual([
        [2, 40, 1],
        [3, 60, 2],
      ])
      await source.update({ n: 5n }, 'id = 2')
      await source.update({ n: 11n }, 'id = 1')
      await source.add([{ id: 4n, n: 40n }])
      expect(await shown(view)).toHaveLength(2)
      expect(await view.refresh()).toEqual({ version: 3 })
      expect(await shown(view)).toEqual([
        [1, 22, 0],
        [3, 60, 2],
        [4, 80, 3],
      ])
      expect(await shown(await view.checkout(2))).toEqual([
        [2, 40, 1],
        [3, 60, 2],
      ])
    })

    test('a refresh without work creates no version, nor does one that changes no row', async () => {
      const view = await created()
      expect(await view.refresh()).toEqual({ version: 2 })
      await source.update({ text: 'other' }, 'id = 3')
      await source.add([{ id: 9n, n: 0n }])
      expect(await view.refresh()).toEqual({ version: 2 })
      const { metadata } = await ops.describeTable({ id: ['v'] })
      expect(metadata).toMatchObject({ 'geneva::view::base_table': 't', 'geneva::view::base_version': '3' })
      expect(JSON.parse(metadata!['geneva::view::query']!)).toMatchObject({ table: ['t'], filter: 'n > 10' })
    })

    test('A-159 src_version: an earlier version, back to the newest, and an unknown one', async () => {
      const view = await created({ withData: false })
      expect(await view.countRows()).toBe(0)
      await source.delete('id = 3')
      await view.refresh({ version: 1 })
      expect(await shown(view)).toEqual([
        [2, 40, 1],
        [3, 60, 2],
      ])
      await view.refresh()
      expect(await shown(view)).toEqual([[2, 40, 1]])
      await view.refresh({ version: 1 })
      expect(await shown(view)).toHaveLength(2)
      expect(await failure(view.refresh({ version: 7 }))).toMatchObject({ code: 11, status: 404 })
    })

    test('A-158 A-162 the request is answered with a job, whose options are reported', async () => {
      const reply = await ops.createMaterializedView({ ...viewRequest(), with_no_data: false })
      expect(reply).toEqual({ version: 1, job_id: expect.any(String) })
      expect(await jobEnd(ops, reply.job_id!)).toMatchObject({ status: 'Succeeded' })
      const given = { concurrency: 4, intra_applier_concurrency: 2, cluster: 'c', manifest: '{}' }
      const { job_id } = await ops.refreshMaterializedView({ id: ['v'], ...given, src_version: 1 })
      expect(await jobEnd(ops, job_id)).toMatchObject({
        status: 'Succeeded',
        operation: 'refresh-view',
        concurrency: '4',
        intra_applier_concurrency: '2',
        cluster: 'c',
        manifest: '{}',
        src_version: '1',
      })
    })

    test('A-159 max_rows_per_fragment is honoured', async () => {
      await ops.createMaterializedView(viewRequest())
      await source.add(Array.from({ length: 7 }, (_, i) => ({ id: BigInt(10 + i), n: 100n })))
      await ns.table('v').refresh({ maxRowsPerFragment: 4 })
      const { num_rows, fragment_stats } = await ops.getTableStats({ id: ['v'] })
      expect([num_rows, fragment_stats.num_fragments, fragment_stats.lengths.max]).toEqual([9, 3, 4])
    })

    test.each<[string, Partial<Request<'refreshMaterializedView'>>, object]>([
      ['not a view', { id: ['t'] }, { code: 13, status: 400 }],
      ['no table', { id: ['no'] }, { code: 4, status: 404 }],
      ['source_task_size', { source_task_size: 1 }, { code: 13 }],
      ['output_limit', { output_limit: 1 }, { code: 13 }],
      ['src_version', { src_version: 99 }, { code: 11 }],
      ['concurrency', { concurrency: 0 }, { code: 13 }],
    ])('A-159 a refresh is refused: %s', async (_, request, expected) => {
      await ops.createMaterializedView(viewRequest())
      expect(await failure(ops.refreshMaterializedView({ id: ['v'], ...request }))).toMatchObject(expected)
    })

    test.each<[string, Partial<Request<'createMaterializedView'>>, object]>([
      ['the name is taken', { id: ['t'] }, { code: 5, status: 409 }],
      ['the namespace is missing', { id: ['no', 'v'] }, { code: 1 }],
      ['the source is missing', { source_query: '{"table":"no"}' }, { code: 4 }],
      ['an unknown column', { source_query: '{"table":"t","columns":["no"]}' }, { code: 12 }],
      ['a filter that is none', { source_query: '{"table":"t","filter":"n +"}' }, { code: 13 }],
      ['an aggregate', { source_query: '{"table":"t","columns":{"s":"sum(n)"}}' }, { code: 13 }],
      ['a field nobody knows', { source_query: '{"table":"t","columns":7}' }, { code: 13 }],
      ['no schema', { output_schema: 'AAAA' }, { code: 13 }],
      ['two queries', { query: 'SELECT * FROM t' }, { code: 13 }],
      ['a function that would have to run', { source_query: 'SELECT 1', with_no_data: false }, { code: 0 }],
      [
        'another type',
        { output_schema: schemaText({ name: 'id', type: { kind: 'bool' }, nullable: true }) },
        { code: 13, message: expect.stringMatching(/"id".*bool.*int64/s) },
      ],
      [
        'a column too few',
        { output_schema: schemaText({ name: 'id', type: int64, nullable: true }) },
        { code: 13, message: expect.stringMatching(/"twice"/) },
      ],
    ])('a creation is refused: %s', async (_, request, expected) => {
      const call = ops.createMaterializedView({ ...viewRequest(), ...request })
      expect(await failure(call)).toMatchObject(expected)
      expect(await ns.tableNames()).toEqual(['t'])
    })

    test('a view is created by SQL, with the schema that its query gives', async () => {
      const query = 'SELECT id, n * 2 AS "twice" FROM "t" WHERE n > 10'
      const { job_id } = await ops.createMaterializedView({ id: ['v'], query, with_no_data: false })
      expect(await jobEnd(ops, job_id!)).toMatchObject({ status: 'Succeeded' })
      expect(await shown(ns.table('v'))).toEqual([
        [2, 40, 1],
        [3, 60, 2],
      ])
      const described = {
        name: 'v',
        kind: 'query',
        query: 'SELECT id, n * 2 AS twice FROM t WHERE n > 10',
        source_table: 't',
        projections: [
          { output_column: 'id', expression: 'id' },
          { output_column: 'twice', expression: 'n * 2' },
        ],
        filter: 'n > 10',
        source_version: 1,
        auto_refresh: false,
      }
      expect(await ops.describeMaterializedView({ id: ['v'] })).toEqual(described)
      await ops.createMaterializedView({ id: ['w'], query: described.query })
      const { source_version: _, ...empty } = described
      expect(await ops.describeMaterializedView({ id: ['w'] })).toEqual({ ...empty, name: 'w' })
    })

    test('a job reports whether its refresh wrote all rows, some or none', async () => {
      await ops.createMaterializedView(viewRequest())
      const refreshed = async (options: Partial<Request<'refreshMaterializedView'>> = {}) => {
        const { job_id } = await ops.refreshMaterializedView({ id: ['v'], ...options })
        await jobEnd(ops, job_id)
        return (await ops.describeJob({ job_id })).result
      }
      const rebuilt = { mode: 'rebuild', rows_written: 2, source_version: 1 }
      expect(await refreshed()).toEqual({ ...rebuilt, version: 2 })
      expect(await refreshed()).toEqual({ mode: 'no_op', rows_written: 0, source_version: 1, version: 2 })
      const before = await shown(ns.table('v'))
      expect(await refreshed({ full: true })).toEqual({ ...rebuilt, version: 3 })
      expect(await shown(ns.table('v'))).toEqual(before)
      await source.add([{ id: 4n, n: 40n }])
      const added = { mode: 'incremental', rows_written: 1, source_version: 2, version: 4 }
      expect(await refreshed()).toEqual(added)
    })

    test('views are listed by pages, and only a view is described or dropped as one', async () => {
      for (const name of ['b', 'a', 'c']) await ops.createMaterializedView({ ...viewRequest(), id: [name] })
      const first = await ops.listMaterializedViews({ id: [], limit: 2 })
      expect(first).toEqual({ views: ['a', 'b'], page_token: expect.any(String) })
      const { page_token } = first
      expect(await ops.listMaterializedViews({ id: [], page_token })).toEqual({ views: ['c'] })
      await ops.dropMaterializedView({ id: ['b'] })
      expect(await ops.listMaterializedViews({ id: [] })).toEqual({ views: ['a', 'c'] })
      expect(await ns.tableNames()).toEqual(['a', 'c', 't'])
      for (const id of [['t'], ['b']]) {
        const expected = id[0] === 't' ? { code: 13 } : { code: 4 }
        expect(await failure(ops.describeMaterializedView({ id }))).toMatchObject(expected)
        expect(await failure(ops.dropMaterializedView({ id }))).toMatchObject(expected)
      }
      expect(await source.countRows()).toBe(3)
    })

    test('definitions that Sheaf does not run are kept, and their refresh says why it fails', async () => {
      const spec = { kind: 'udtf' as const, udtf: 'AA', udtf_sha: 'a', udtf_name: 'f', udtf_version: '1' }
      await ops.createMaterializedView({ ...viewRequest(), kind: 'udtf', udtf_spec: spec })
      await ops.createMaterializedView({ ...viewRequest(), id: ['w'], source_query: 'SELECT * FROM t' })
      const refused = async (id: string) => failure(ops.refreshMaterializedView({ id: [id] }))
      expect(await refused('v')).toMatchObject({ code: 0, message: expect.stringContaining('udtf') })
      expect(await refused('w')).toMatchObject({ code: 0, hint: expect.stringContaining('"table"') })
      expect((await ops.describeTable({ id: ['w'] })).metadata).toMatchObject({
        'geneva::view::query': 'SELECT * FROM t',
      })
    })

    test('only a refresh changes a view', async () => {
      const view = await created()
      const body = await view.query().toIpc()
      const id = ['v']
      const writes: Readonly<Record<string, () => Promise<unknown>>> = {
        insert: () => ops.insertIntoTable({ id }, body),
        overwrite: () => ops.insertIntoTable({ id, mode: 'Overwrite' }, body),
        create: () => ops.createTable({ id, mode: 'Overwrite' }, body),
        update: () => view.update({ twice: 1n }),
        delete: () => view.delete('true'),
        merge: () => ops.mergeInsertIntoTable({ id, on: ['id'], when_matched_update_all: true }, body),
        restore: () => view.restore(1),
        add: () => view.addColumns({ a: '1' }),
        alter: () => view.alterColumns({ id: { rename: 'x' } }),
        drop: () => view.dropColumns(['twice']),
        metadata: () => view.updateSchemaMetadata({ a: 'b' }),
      }
      for (const [what, write] of Object.entries(writes)) {
        expect([what, await failure(write())]).toMatchObject([what, { ...isView, hint: expect.any(String) }])
      }
      expect(await view.version()).toBe(2)
      await view.tags.create('a', 2)
      expect(await (await view.checkout('a')).countRows('twice = 40')).toBe(1)
      await ns.renameTable('v', 'w')
      await source.delete('id = 2')
      expect(await (await ns.openTable('w')).refresh()).toEqual({ version: 3 })
      await ops.batchDeleteTableVersions({ id: ['w'], ranges: [{ start_version: 1, end_version: 2 }] })
      await ns.dropTable('w')
    })

    test('a renamed source is followed, a recreated source is shown under new ids', async () => {
      const view = await created()
      await ns.renameTable('t', 'u')
      await source.delete('id = 2')
      await view.refresh()
      expect(await shown(view)).toEqual([[3, 60, 2]])
      await ns.dropTable('u')
      const { job_id } = await ops.refreshMaterializedView({ id: ['v'] })
      expect(await jobEnd(ops, job_id)).toMatchObject({
        status: 'Failed',
        reason: expect.stringMatching(/"t", was dropped/),
      })
      await ns.createTable('t', rows)
      await view.refresh()
      expect(await shown(view)).toEqual([
        [2, 40, 4],
        [3, 60, 5],
      ])
    })

    test('a renamed or dropped column of the source fails the refresh, and the view stays', async () => {
      const view = await created()
      await source.alterColumns({ n: { rename: 'm' } })
      const renamed = await failure(view.refresh())
      expect(renamed).toMatchObject({ code: 19, message: expect.stringMatching(/Failed.*version 2.*"n"/s) })
      await source.addColumns({ n: "'text'" })
      expect((await failure(view.refresh())).message).toMatch(/n \* 2|"n"|utf8/)
      expect(await shown(view)).toHaveLength(2)
      await source.dropColumns(['n'])
      await source.addColumns({ n: 'm + 1' })
      await view.refresh()
      expect(await shown(view)).toEqual([
        [1, 22, 0],
        [2, 42, 1],
        [3, 62, 2],
      ])
    })

    test('a query that reads more than its row is computed again, under the same ids', async () => {
      const view = await ns.createView('v', { source: 't', columns: { id: 'id', place: '_rowoffset' } })
      await source.delete('id = 1')
      await view.refresh()
      expect(await shown(view)).toEqual([
        [2, 0, 1],
        [3, 1, 2],
      ])
    })

    test('a view of all columns keeps the columns of its creation; a view of a view', async () => {
      const all = await ns.createView('v', { source: 't' })
      const over = await ns.createView('w', { source: 'v', where: 'id > 1', columns: ['text', 'id'] })
      await source.addColumns({ more: 'n + 1' })
      await source.update({ text: 'zwei' }, 'id = 2')
      await all.refresh()
      await over.refresh()
      expect(await over.query().orderBy('id').toArray()).toEqual([
        { text: 'zwei', id: 2 },
        { text: 'three', id: 3 },
      ])
      await ns.dropTable('v')
      const circle = { ...viewRequest(), source_query: '{"table":"w","columns":["id"]}' }
      const output_schema = schemaText({ name: 'id', type: int64, nullable: true })
      const call = ops.createMaterializedView({ ...circle, output_schema })
      expect(await failure(call)).toMatchObject({
        code: 13,
        message: expect.stringContaining('would be its own source'),
      })
    })

    test('an unfinished refresh is not lost when the root is opened again', async () => {
      await created()
      await source.add([{ id: 7n, n: 70n }])
      const again = await opened.reopen()
      const view = await again.openTable('v')
      await view.refresh()
      expect(await shown(view)).toHaveLength(3)
    })
  })
}
