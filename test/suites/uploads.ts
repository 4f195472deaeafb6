/** What uploads in parts promise, through every door. */
import { tableFromArrays } from 'apache-arrow'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Namespace, Row, Table } from '../../src/index.js'
import { failure } from '../support/failure.js'
import type { OpenedNamespace } from './namespace.js'

const rows: readonly Row[] = [
  { id: 1n, name: 'one' },
  { id: 2n, name: 'two' },
]

export function uploadSuite(name: string, open: () => Promise<OpenedNamespace>): void {
  describe(name, () => {
    let opened: OpenedNamespace
    let ns: Namespace
    let table: Table
    beforeEach(async () => {
      opened = await open()
      ns = opened.ns
      table = await ns.createTable('t', rows)
    })
    afterEach(() => opened.close())

    const ids = async (of: Table = table) => (await of.query().orderBy('id').toArray()).map(row => row.id)

    test('parts are invisible until the upload is committed, and then one version has all of them', async () => {
      const upload = await table.upload()
      expect(await upload.add([{ id: 3n, name: 'three' }], { part: 'a' })).toEqual({ part: 'a', rows: 1 })
      await upload.add([{ id: 5n }, { id: 4n, name: 'four' }], { part: 'b' })
      expect(await ids()).toEqual([1, 2])
      expect(await table.version()).toBe(1)
      expect(await upload.commit()).toEqual({ version: 2, parts: 2, inserted: 3, updated: 0, deleted: 0 })
      expect(await ids()).toEqual([1, 2, 3, 4, 5])
      expect(await table.version()).toBe(2)
    })

    test('a repeated commit returns the same and changes nothing', async () => {
      const upload = await table.upload()
      await upload.add([{ id: 3n }])
      const first = await upload.commit()
      await table.add([{ id: 9n }])
      expect(await upload.commit()).toEqual(first)
      expect(await ids()).toEqual([1, 2, 3, 9])
    })

    test('a part sent twice counts once, with other rows it replaces the part', async () => {
      const upload = await table.upload()
      await upload.add([{ id: 3n }], { part: 'a' })
      await upload.add([{ id: 4n }], { part: 'b' })
      await upload.add([{ id: 3n }], { part: 'a' })
      await upload.add([{ id: 5n }, { id: 6n }], { part: 'b' })
      expect((await upload.parts()).map(({ part, rows }) => [part, rows])).toEqual([
        ['a', 1],
        ['b', 2],
      ])
      expect(await upload.commit()).toMatchObject({ parts: 2, inserted: 3 })
      expect(await ids()).toEqual([1, 2, 3, 5, 6])
    })

    test('a commit that names parts leaves out the others, and takes them in that order', async () => {
      const upload = await table.upload()
      for (const part of ['a', 'b', 'c']) await upload.add([{ id: 10n, name: part }], { part })
      expect(await failure(upload.commit({ parts: ['a', 'x'] }))).toMatchObject({ code: 13 })
      expect(await upload.commit({ parts: ['c', 'a'] })).toMatchObject({ parts: 2, inserted: 2 })
      const found = await table.query().where('id = 10').toArray()
      expect(found.map(row => row.name)).toEqual(['c', 'a'])
    })

    test('a commit of an empty list of parts is refused, because it is ambiguous', async () => {
      const upload = await table.upload()
      await upload.add([{ id: 10n }], { part: 'of an attempt that failed' })
      expect(await failure(upload.commit({ parts: [] }))).toMatchObject({ code: 13 })
      const request = { id: ['t'], upload_id: upload.id, parts: [] }
      expect(await failure(ns.operations.completeTableUpload(request))).toMatchObject({ code: 13 })
      expect(await ids()).toEqual([1, 2])
    })

    test('an upload can be resumed by its id', async () => {
      const { id } = await table.upload()
      const other = await (await ns.openTable('t')).resumeUpload(id)
      await other.add([{ id: 3n }])
      expect(await (await table.resumeUpload(id)).commit()).toMatchObject({ version: 2, inserted: 1 })
      expect(await failure(table.resumeUpload(id))).toMatchObject({
        code: 13,
        message: /was already completed/,
      })
    })

    test('an aborted upload adds nothing, and accepts no more parts', async () => {
      const upload = await table.upload()
      await upload.add([{ id: 3n }])
      await upload.abort()
      await upload.abort()
      expect(await failure(upload.add([{ id: 4n }]))).toMatchObject({ code: 13 })
      expect(await failure(upload.commit())).toMatchObject({ code: 13, message: /was already aborted/ })
      expect(await ids()).toEqual([1, 2])
    })

    test('a completed upload cannot be aborted', async () => {
      const upload = await table.upload()
      await upload.commit()
      expect(await failure(upload.abort())).toMatchObject({ code: 13, message: /was already completed/ })
    })

    test('an overwrite replaces all rows once, when it is committed', async () => {
      const upload = await table.upload({ mode: 'overwrite' })
      await upload.add([{ id: 7n }])
      await upload.add([{ id: 8n }])
      await table.add([{ id: 3n }])
      expect(await ids()).toEqual([1, 2, 3])
      expect(await upload.commit()).toMatchObject({ version: 3, inserted: 2 })
      expect(await ids()).toEqual([7, 8])
    })

    test('an overwrite without parts is refused: an explicit part without rows empties the table', async () => {
      const overwrite = await table.upload({ mode: 'overwrite' })
      expect(await failure(overwrite.commit())).toMatchObject({
        code: 13,
        message: /no parts/,
        hint: /abort/,
      })
      const merge = await table.mergeInsert('id').whenNotMatchedBySourceDelete().upload()
      expect(await failure(merge.commit())).toMatchObject({ code: 13, message: /no parts/ })
      expect(await ids()).toEqual([1, 2])
      await overwrite.add(tableFromArrays({ id: new BigInt64Array(0) }))
      expect(await overwrite.commit()).toMatchObject({ parts: 1, inserted: 0 })
      expect(await ids()).toEqual([])
    })

    test('a merge whose condition does not fit is refused before any part is sent', async () => {
      const merge = table.mergeInsert('id').whenMatchedUpdateAll({ where: 'source.nmae IS NOT NULL' })
      expect(await failure(merge.upload())).toMatchObject({ code: 12, hint: /name/ })
    })

    test('a merge in parts is one merge', async () => {
      const upload = await table
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .whenNotMatchedBySourceDelete()
        .upload()
      await upload.add([{ id: 2n, name: 'zwei' }], { part: 'a' })
      await upload.add([{ id: 3n, name: 'drei' }], { part: 'b' })
      expect(await failure(upload.add([{ id: 4n }], { part: 'c' }))).toMatchObject({
        code: 13,
        hint: /same columns/,
      })
      expect(await upload.commit()).toEqual({ version: 2, parts: 2, inserted: 1, updated: 1, deleted: 1 })
      const found = await table.query().orderBy('id').toArray()
      expect(found).toEqual([
        { id: 2, name: 'zwei' },
        { id: 3, name: 'drei' },
      ])
      expect(await upload.commit()).toMatchObject({ version: 2, inserted: 1, updated: 1, deleted: 1 })
    })

    test('a merge that names a part twice its key fails at commit, and can still be aborted', async () => {
      const upload = await table.mergeInsert('id').whenMatchedUpdateAll().upload()
      await upload.add([{ id: 2n, name: 'a' }], { part: 'a' })
      await upload.add([{ id: 2n, name: 'b' }], { part: 'b' })
      expect(await failure(upload.commit())).toMatchObject({ code: 13 })
      await upload.add([{ id: 1n, name: 'b' }], { part: 'b' })
      expect(await upload.commit()).toMatchObject({ updated: 2 })
    })

    test('rows that do not fit are refused, and leave the part as it was', async () => {
      const upload = await table.upload()
      await upload.add([{ id: 3n }], { part: 'a' })
      expect(await failure(upload.add([{ id: 3n, other: 1 }], { part: 'a' }))).toMatchObject({
        code: expect.any(Number),
      })
      expect(await failure(upload.add([{ id: 'x' }], { part: 'a' }))).toMatchObject({ code: 20 })
      expect(await upload.commit()).toMatchObject({ inserted: 1 })
    })

    test('new columns that may be null are null in the rows of an upload; other changes refuse it', async () => {
      const upload = await table.upload()
      await upload.add([{ id: 3n }])
      await table.addColumns({ note: { type: 'string' } })
      await upload.commit()
      expect(await table.query().where('id = 3').toArray()).toEqual([{ id: 3, name: null, note: null }])
      const late = await table.upload()
      await late.add([{ id: 4n }])
      await table.dropColumns(['name'])
      expect(await failure(late.commit())).toMatchObject({ code: 19, hint: /abort it/ })
      await late.abort()
    })

    test('objects get the columns of the upload’s begin; a column added since is refused, and the error says what to do', async () => {
      const { id } = await table.upload()
      await table.addColumns({ note: { type: 'string' } })
      const upload = await table.resumeUpload(id)
      await upload.add([{ id: 3n }, { id: 4n, name: 'four' }])
      const bringing = tableFromArrays({ id: BigInt64Array.of(5n), note: ['x'] })
      expect(await failure(upload.add(bringing))).toMatchObject({
        code: 12,
        message: /does not accept column "note"/,
        hint: /leave out the column.*abort the upload/,
      })
      expect(await failure(upload.add([{ id: 5n, note: 'x' }]))).toMatchObject({
        code: 20,
        message: /"note"/,
      })
      await upload.commit()
      expect(await table.query().where('id > 2').orderBy('id').toArray()).toEqual([
        { id: 3, name: null, note: null },
        { id: 4, name: 'four', note: null },
      ])
    })

    test('once the table has other columns, a part is refused as the commit would be', async () => {
      const [upload, merge] = [
        await table.upload(),
        await table.mergeInsert('id').whenMatchedUpdateAll().upload(),
      ]
      await table.addColumns({ note: { type: 'string' } })
      expect(await failure(merge.add([{ id: 1n }]))).toMatchObject({ code: 19, hint: /abort it/ })
      await table.dropColumns(['name', 'note'])
      expect(await failure(upload.add([{ id: 4n }]))).toMatchObject({ code: 19, hint: /abort it/ })
      expect(await upload.parts()).toEqual([])
    })

    test('an upload to a table that was dropped says so, and can be aborted', async () => {
      const { operations } = ns
      const completed = await table.upload()
      await completed.add([{ id: 3n }])
      const answer = await completed.commit()
      const [dropped, replaced] = [await table.upload(), await table.upload()]
      await dropped.add([{ id: 4n }])
      await ns.dropTable('t')
      const gone = { code: 4, message: /upload .* dropped/, hint: /abort/ }
      expect(await failure(dropped.commit())).toMatchObject(gone)
      expect(await failure(dropped.parts())).toMatchObject(gone)
      await dropped.abort()
      await dropped.abort()
      expect(await completed.commit()).toEqual(answer)
      await ns.createTable('t', rows)
      const request = { id: ['t'], upload_id: replaced.id }
      expect(await failure(operations.completeTableUpload(request))).toMatchObject(gone)
      await operations.abortTableUpload(request)
      expect(await failure(completed.abort())).toMatchObject({ code: 13, message: /was already completed/ })
    })

    test('an upload to a deregistered table waits until the table is registered', async () => {
      const upload = await table.upload()
      await upload.add([{ id: 3n }])
      const { location } = await ns.operations.deregisterTable({ id: ['t'] })
      await ns.createTable('t', rows)
      const request = { id: ['t'], upload_id: upload.id }
      expect(await failure(ns.operations.abortTableUpload(request))).toMatchObject({ code: 10 })
      await ns.operations.registerTable({ id: ['again'], location: location! })
      const again = await (await ns.openTable('again')).resumeUpload(upload.id)
      expect(await again.commit()).toMatchObject({ inserted: 1 })
    })

    test('two uploads that overwrite run one after the other', async () => {
      const uploads = await Promise.all([1, 2, 3].map(() => table.upload({ mode: 'overwrite' })))
      await Promise.all(uploads.map((upload, i) => upload.add([{ id: BigInt(i) }])))
      const done = await Promise.all(uploads.map(upload => upload.commit()))
      expect(done.map(({ version }) => version).sort()).toEqual([2, 3, 4])
      expect(await ids()).toHaveLength(1)
    })

    test('one commit completes uploads to several tables, or none', async () => {
      const other = await ns.createTable('u', rows)
      const [a, b, c] = [
        await table.upload(),
        await other.upload({ mode: 'overwrite' }),
        await other.upload(),
      ]
      await a.add([{ id: 3n }])
      await b.add([{ id: 4n }])
      await c.add([{ id: 5n }])
      const complete = (table: string, upload: { readonly id: string }) => ({
        complete_upload: { id: [table], upload_id: upload.id },
      })
      const { batchCommitTables } = ns.operations
      await c.abort()
      const refused = batchCommitTables({ operations: [complete('t', a), complete('u', c)] })
      expect(await failure(refused)).toMatchObject({ code: 13, message: /operations\[1\]/ })
      expect([await ids(), await ids(other)]).toEqual([
        [1, 2],
        [1, 2],
      ])
      const operations = [complete('t', a), complete('u', b)]
      const done = await batchCommitTables({ operations })
      expect(done.results.map(each => each.complete_upload)).toMatchObject([
        { version: 2, num_inserted_rows: 1 },
        { version: 2, num_inserted_rows: 1 },
      ])
      expect([await ids(), await ids(other)]).toEqual([[1, 2, 3], [4]])
      expect((await batchCommitTables({ operations })).results).toEqual(done.results)
    })

    test('an upload belongs to its table', async () => {
      const other = await ns.createTable('u', rows)
      const { id } = await table.upload()
      expect(await failure(other.resumeUpload(id))).toMatchObject({ code: 10 })
      expect(await failure(table.resumeUpload('nothing'))).toMatchObject({ code: 10 })
      await ns.renameTable('t', 'v')
      expect(await (await ns.openTable('v')).resumeUpload(id)).toMatchObject({ id })
    })

    test('parts of one upload have the same mode', async () => {
      const { id } = await table.upload()
      const request = { id: ['t'], upload_id: id, upload_part_id: 'a', mode: 'Overwrite' as const }
      const body = await table.query().toIpc()
      expect(await failure(ns.operations.insertIntoTable(request, body))).toMatchObject({ code: 13 })
      const { upload_part_id: _, ...half } = request
      expect(await failure(ns.operations.insertIntoTable(half, body))).toMatchObject({
        code: 13,
        message: /needs upload_part_id/,
      })
    })
  })
}
