/** What scans in slices promise, through every door. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Namespace, ScanOptions, Table, TableScan, TableSlice } from '../../src/index.js'
import { failure } from '../support/failure.js'
import type { OpenedRoot } from '../support/transports.js'

interface Found {
  readonly id: number
  readonly name: string
}

/** The rows of a slice; int64 as numbers. */
export async function rowsOf(slice: TableSlice, after?: string): Promise<Found[]> {
  const found: Found[] = []
  for await (const batch of slice.batches(after === undefined ? {} : { after })) {
    for (const row of batch.toArray()) found.push({ id: Number(row.id), name: row.name })
  }
  return found
}

export async function rowsIn({ slices }: Pick<TableScan, 'slices'>): Promise<Found[]> {
  return (await Promise.all(slices.map(slice => rowsOf(slice)))).flat()
}

export function readSessionSuite(name: string, open: () => Promise<OpenedRoot>): void {
  describe(name, () => {
    let opened: OpenedRoot
    let ns: Namespace
    let table: Table
    beforeEach(async () => {
      opened = await open()
      ns = opened.ns
      table = await ns.createTable('t', numbered(0, 100))
      await table.add(numbered(100, 160))
      await table.delete('id % 7 = 3')
    })
    afterEach(() => opened.close())

    const all = async () => (await table.query().toArray()).map(({ id, name }) => ({ id, name }))
    const scanned = (options: ScanOptions = {}) => table.scan(options)

    test('the slices together are the table, in row order', async () => {
      const scan = await scanned({ slices: 5 })
      expect(scan.version).toBe(3)
      expect(scan.slices).toHaveLength(5)
      expect(await rowsIn(scan)).toEqual(await all())
      const rows = scan.slices.map(slice => slice.rows)
      expect(rows.reduce((sum, count) => sum + count)).toBe(await table.countRows())
      expect(Math.max(...rows) - Math.min(...rows)).toBeLessThan(12)
    })

    test('by default a small table is one slice, and there are never more slices than rows', async () => {
      expect((await scanned()).slices).toHaveLength(1)
      const few = await ns.createTable('few', numbered(0, 3))
      const scan = await few.scan({ slices: 50 })
      expect(scan.slices.length).toBeLessThanOrEqual(3)
      expect(await rowsIn(scan)).toHaveLength(3)
    })

    test('a filter, expressions and row ids are those of a search', async () => {
      const select = { id: 'id', name: "name || '!'", _rowid: '_rowid' }
      const scan = await scanned({ slices: 3, where: opened.sql`id > ${50}`, select })
      const found = []
      for (const slice of scan.slices) {
        for await (const batch of slice.batches())
          found.push(...batch.toArray().map(row => ({ ...row.toJSON() })))
      }
      const wanted = await table.query().where('id > 50').select(select).toArray()
      expect(found.map(({ _rowid, ...row }) => ({ ...row, _rowid: Number(_rowid) }))).toEqual(wanted)
      const named = await scanned({ select: ['name'], withRowId: true })
      for await (const batch of named.slices[0]!.batches()) {
        expect(batch.schema.fields.map(field => field.name)).toEqual(['name', '_rowid'])
      }
    })

    test('slices without possible matches are omitted', async () => {
      const big = await ns.createTable('big', numbered(0, 5000))
      await big.add(numbered(5000, 10_000))
      expect((await big.scan({ where: 'id >= 10000' })).slices).toEqual([])
      const scan = await big.scan({ slices: 4, where: 'id >= 7000' })
      expect(scan.slices.map(({ rows }) => rows)).toEqual([1250, 1250, 1250, 1250])
      expect(await rowsIn(scan)).toEqual(numbered(7000, 10_000))
    })

    test('the version is read during any writes', async () => {
      const before = await all()
      const scan = await scanned({ slices: 3 })
      const [first, ...rest] = scan.slices
      expect(await rowsOf(first!)).toEqual(before.slice(0, first!.rows))
      await table.add(numbered(500, 510))
      await table.update({ name: 'other' })
      await (await opened.another()).optimize()
      expect(await rowsIn({ slices: rest })).toEqual(before.slice(first!.rows))
    })

    test('the table may be dropped meanwhile, and another take its name', async () => {
      const before = await all()
      const scan = await scanned({ slices: 2 })
      await ns.dropTable('t')
      expect(await rowsIn(scan)).toEqual(before)
      await ns.createTable('t', numbered(0, 5))
      await (await opened.another()).optimize()
      expect(await rowsIn(scan)).toEqual(before)
    })

    test('a handle on a version is scanned at that version', async () => {
      const scan = await (await table.checkout(1)).scan({ slices: 2 })
      expect(scan.version).toBe(1)
      expect((await rowsIn(scan)).map(({ id }) => id)).toEqual(numbered(0, 100).map(({ id }) => id))
    })

    test('a slice is read by its token, and continues where a reader stopped', async () => {
      const [, second] = (await scanned({ slices: 2 })).slices
      const wanted = await rowsOf(second!)
      const again = (await ns.openTable('t')).slice(second!.token)
      expect(await rowsOf(again)).toEqual(wanted)
      const { id } = table
      const request = { id, token: second!.token, max_bytes: 1 }
      const { bytes } = await ipcOf(ns, request)
      expect(bytes).toBeGreaterThan(0)
      let after: string | undefined
      for await (const batch of again.batches()) after ??= batch.metadata.get('sheaf:after')
      expect(await rowsOf(again, after)).toEqual([])
    })

    test('tokens that were changed, or belong to another table, are refused', async () => {
      const { slices } = await scanned({ slices: 2 })
      const { token } = slices[0]!
      const middle = token.length >> 1
      const changed = `${token.slice(0, middle)}${token[middle] === 'A' ? 'B' : 'A'}${token.slice(middle + 1)}`
      for (const wrong of [changed, token.slice(0, -2), 'x', `${token}AAAA`]) {
        expect(await failure(rowsOf(table.slice(wrong)))).toMatchObject({ code: 13, message: /token/ })
      }
      const other = await ns.createTable('other', numbered(0, 1))
      expect(await failure(rowsOf(other.slice(token)))).toMatchObject({ code: 13, message: /token/ })
      const session = { id: ['t'], session: token.slice(1) }
      expect(await failure(ns.operations.closeTableReadSession(session))).toMatchObject({ code: 13 })
    })

    test('a resume position that is not the end of a message is refused', async () => {
      const [first, second] = (await scanned({ slices: 2 })).slices
      for (const after of ['x', '-1', String(first!.rows + second!.rows + 1), '9'.repeat(30)]) {
        expect(await failure(rowsOf(first!, after))).toMatchObject({ code: 13, message: /after/ })
      }
      expect(await failure(rowsOf(second!, '0'))).toMatchObject({ code: 13 })
    })

    test('a scan is validated like a search', async () => {
      expect(await failure(scanned({ where: 'nothing = 1' }))).toMatchObject({ code: 12 })
      expect(await failure(scanned({ where: 'id >' }))).toMatchObject({ code: 13 })
      expect(await failure(scanned({ select: ['nothing'] }))).toMatchObject({ code: 12 })
      for (const slices of [0, 1.5, 10_001])
        expect(await failure(scanned({ slices }))).toMatchObject({ code: 13 })
      expect(await failure(scanned({ select: { n: 'count(*)' } }))).toMatchObject({ code: 13 })
    })

    test('files are listed only for rows that are stored as they are', async () => {
      expect((await scanned()).slices[0]!.ranges).toBeUndefined()
      const refused: readonly [ScanOptions, RegExp][] = [
        [{ where: 'id > 3' }, /files and filter/],
        [{ withRowId: true }, /files and with_row_id/],
        [{ select: { double: 'id * 2' } }, /only columns of the table/],
        [{ select: ['_rowid'] }, /only columns of the table/],
      ]
      for (const [options, message] of refused) {
        expect(await failure(scanned({ ...options, files: true }))).toMatchObject({ code: 13, message })
      }
    })

    test('inline rows are read by tokens of their own', async () => {
      const [slice] = (await scanned({ files: true })).slices
      const found: Found[] = []
      for (const { token, files, rows } of slice!.ranges!) {
        expect(files).toBeUndefined()
        const own = await rowsOf(table.slice(token!))
        expect(own).toHaveLength(rows)
        found.push(...own)
      }
      expect(found).toEqual(await all())
    })

    test('closing one twice is not an error', async () => {
      const scan = await scanned()
      await scan.close()
      await scan.close()
    })

    test('every call honours an abort', async () => {
      const signal = AbortSignal.abort(new Error('enough'))
      expect(await failure(scanned({ signal }))).toMatchObject({ message: 'enough' })
      const scan = await scanned()
      const batches = scan.slices[0]!.batches({ signal })
      expect(await failure(batches.next())).toMatchObject({ message: 'enough' })
      expect(await failure(scan.close({ signal }))).toMatchObject({ message: 'enough' })
    })
  })
}

async function ipcOf(
  ns: Namespace,
  request: Parameters<Namespace['operations']['readTableSlice']>[0],
): Promise<{ readonly bytes: number }> {
  const { chunks } = await ns.operations.readTableSlice(request)
  return { bytes: chunks.reduce((sum, { length }) => sum + length, 0) }
}

export function numbered(from: number, to: number): Found[] {
  return Array.from({ length: to - from }, (_, i) => ({ id: from + i, name: `row ${from + i}` }))
}
