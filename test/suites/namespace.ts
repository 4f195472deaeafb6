/**
 * What a namespace promises, however it is reached. Run over every way to reach one: direct, HTTP, a worker.
 * `open` gives a fresh, empty namespace; what it returns is closed after the test.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import type { Namespace, Row, Schema, Table } from '../../src/index.js'
import type { SqlTag } from '../../src/sql/syntax/tag.js'

export interface OpenedNamespace {
  readonly ns: Namespace
  /** The tag of the same copy of the code as `ns`: fragments of another one are no fragments. */
  readonly sql: SqlTag
  readonly close: () => Promise<void>
}

const people: readonly Row[] = [
  { id: 1, name: 'Ada', born: 1815, tags: ['math', 'code'], vector: [0, 0, 1] },
  { id: 2, name: 'Grace', born: 1906, tags: ['code'], vector: [1, 0, 0] },
  { id: 3, name: 'Alan', born: 1912, tags: [], vector: [2, 0, 0] },
  { id: 4, name: "D'Arcy", born: null, tags: null, vector: [3, 0, 0] },
  { id: 5, name: 'Barbara', born: 1939, tags: ['code'], vector: null },
]
const near = [1, 0, 0]

/** The error a call ends with; fails when it succeeds. */
async function failure(
  call: Promise<unknown>,
): Promise<{ code: number; status: number; message: string; hint?: string }> {
  return call.then(
    () => expect.fail('the call succeeded'),
    error => error,
  )
}

export function namespaceSuite(name: string, open: () => Promise<OpenedNamespace>): void {
  describe(name, () => {
    let opened: OpenedNamespace
    let ns: Namespace
    let table: Table
    beforeEach(async () => {
      opened = await open()
      ns = opened.ns
      table = await ns.createTable('people', people)
    })
    afterEach(() => opened.close())

    const ids = async (rows: Promise<Record<string, unknown>[]>) => (await rows).map(row => row.id)

    describe('namespaces', () => {
      test('are nested, listed, described and dropped', async () => {
        await ns.createNamespace('a', { properties: { owner: 'ada' } })
        await ns.createNamespace('a$b')
        expect(await ns.namespaceNames()).toEqual(['a'])
        expect(await ns.namespaceNames('a')).toEqual(['b'])
        expect((await ns.operations.describeNamespace({ id: ['a'] })).properties).toEqual({ owner: 'ada' })
        await ns.createTable('a$b$t', people)
        expect(await ns.tableNames('a$b')).toEqual(['t'])
        expect((await ns.operations.listAllTables({})).tables).toEqual(['a$b$t', 'people'])
        expect(await failure(ns.dropNamespace('a'))).toMatchObject({ code: 3, status: 409 })
        await ns.dropNamespace('a', { behavior: 'cascade' })
        expect(await failure(ns.operations.namespaceExists({ id: ['a'] }))).toMatchObject({ code: 1 })
        expect(await failure(ns.openTable('a$b$t'))).toMatchObject({ code: 4 })
      })

      test('creating an existing one is refused, keeps or replaces it, as requested', async () => {
        await ns.createNamespace('a', { properties: { x: '1' } })
        expect(await failure(ns.createNamespace('a'))).toMatchObject({ code: 2, status: 409 })
        await ns.createNamespace('a', { mode: 'exist_ok', properties: { x: '2' } })
        expect((await ns.operations.describeNamespace({ id: ['a'] })).properties).toEqual({ x: '1' })
        await ns.createNamespace('a', { mode: 'overwrite', properties: { x: '3' } })
        expect((await ns.operations.describeNamespace({ id: ['a'] })).properties).toEqual({ x: '3' })
      })

      test('a table needs its namespace, unless parents are asked for', async () => {
        expect(await failure(ns.createTable('no$where$t', people))).toMatchObject({ code: 1, status: 404 })
        expect(await ns.namespaceNames()).toEqual([])
        await ns.createTable('no$where$t', people, { createParents: true })
        expect(await ns.tableNames(['no', 'where'])).toEqual(['t'])
      })

      test('A-120 names that would not survive a URL are refused', async () => {
        for (const bad of ['', '.', '..', 'a/b', 'a\\b', 'a?b', 'a#b', 'a%b', 'a\nb', 'x'.repeat(256)]) {
          expect(await failure(ns.createTable([bad], people))).toMatchObject({ code: 13, status: 400 })
        }
        for (const good of ['é', 'a b', "it's", '名前', '__proto__', 'constructor']) {
          await ns.createTable([good], people)
          expect(await (await ns.openTable([good])).countRows()).toBe(5)
        }
      })
    })

    describe('options', () => {
      test('an unknown option is refused, never taken for another', async () => {
        await ns.createNamespace('n')
        const calls = [
          () => table.add([{ id: 9 }], { mode: 'Append' as never }),
          () => ns.createTable('t', people, { mode: 'Overwrite' as never }),
          () => ns.createNamespace('m', { mode: 'Create' as never }),
          () => ns.dropNamespace('n', { behavior: 'Restrict' as never }),
          () => ns.dropNamespace('missing', { mode: 'Fail' as never }),
          () => table.query().toArray({ int64: 'bogus' as never }),
        ]
        for (const call of calls) expect(await failure(call())).toMatchObject({ code: 13 })
        expect(await table.countRows()).toBe(5)
        expect(await ns.namespaceNames()).toEqual(['n'])
      })

      test('options without effect are refused: bounds without a vector, parameters without a filter', async () => {
        expect(await failure(table.query().distanceRange(1, 2).toArray())).toMatchObject({ code: 13 })
        expect(await failure(table.query().column('vector').toArray())).toMatchObject({ code: 13 })
        expect(await failure(table.countRows(undefined, [1]))).toMatchObject({ code: 13 })
        const query = { id: ['people'], k: 1, vector: { single_vector: near }, parameters: [1] }
        expect(await failure(ns.operations.queryTable(query))).toMatchObject({ code: 13 })
      })

      test('a second text is refused, never ignored', () => {
        const twice = () => table.search('ada').fullText('bob')
        expect(twice).toThrow(expect.objectContaining({ code: 13 }))
      })

      test('a malformed schema says which field is wrong', async () => {
        const bad = [
          {},
          { fields: [{ name: 'a' }] },
          { fields: [{ name: 'a', nullable: true, type: { kind: 'zork' } }] },
        ]
        for (const schema of bad) {
          expect(await failure(ns.createTable('t', [], { schema: schema as never }))).toMatchObject({
            code: 20,
          })
        }
      })
    })

    describe('tables', () => {
      test('describe tells version, schema and location', async () => {
        const described = await ns.operations.describeTable({ id: ['people'], load_detailed_metadata: true })
        expect(described).toMatchObject({
          table: 'people',
          namespace: [],
          version: 1,
          managed_versioning: true,
        })
        expect(described.location).toMatch(/tables\/[0-9a-f-]{36}$/)
        expect(described.schema!.fields.map(field => [field.name, field.type.type])).toEqual([
          ['id', 'float64'],
          ['name', 'utf8'],
          ['born', 'float64'],
          ['tags', 'list'],
          ['vector', 'fixed_size_list'],
        ])
      })

      test('A-122 exists tells a missing table from a missing version', async () => {
        await ns.operations.tableExists({ id: ['people'] })
        await ns.operations.tableExists({ id: ['people'], version: 1 })
        expect(await failure(ns.operations.tableExists({ id: ['people'], version: 2 }))).toMatchObject({
          code: 11,
        })
        expect(await failure(ns.operations.tableExists({ id: ['peple'] }))).toMatchObject({
          code: 4,
          status: 404,
        })
      })

      test('an existing table is refused, kept, or replaced', async () => {
        expect(await failure(ns.createTable('people', people))).toMatchObject({ code: 5, status: 409 })
        await ns.createTable('people', [{ other: 1 }], { mode: 'exist_ok' })
        expect(await table.countRows()).toBe(5)
        await ns.createTable('people', [{ other: 1n }], { mode: 'overwrite' })
        expect(await table.query().toArray()).toEqual([{ other: 1 }])
        expect(await table.version()).toBe(2)
        expect(await (await table.checkout(1)).countRows()).toBe(5)
      })

      test('a dropped table is gone, and its name is free for another', async () => {
        await ns.dropTable('people')
        expect(await failure(table.countRows())).toMatchObject({ code: 4 })
        expect(await ns.tableNames()).toEqual([])
        await ns.createTable('people', [{ id: 9 }])
        expect(await ids(ns.openTable('people').then(again => again.query().toArray()))).toEqual([9])
        expect(await (await ns.openTable('people')).version()).toBe(1)
      })

      test('of many that create one table, one wins', async () => {
        const tries = Array.from({ length: 8 }, (_, i) => ns.createTable('race', [{ id: i }]))
        const settled = await Promise.allSettled(tries)
        expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
        for (const result of settled) {
          if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 5 })
        }
        expect(await (await ns.openTable('race')).countRows()).toBe(1)
      })

      test('creating a table that may exist succeeds for all concurrent callers', async () => {
        const create = (mode: 'exist_ok' | 'overwrite') =>
          Promise.all(Array.from({ length: 6 }, (_, i) => ns.createTable(mode, [{ id: i }], { mode })))
        await create('exist_ok')
        await create('overwrite')
        expect(await (await ns.openTable('exist_ok')).version()).toBe(1)
        expect(await (await ns.openTable('overwrite')).version()).toBe(6)
      })

      test('a committed call reports success, even if the next one in the group undid it', async () => {
        const created = ns.operations.createNamespace({ id: ['x'], properties: { a: 'b' } })
        const dropped = ns.operations.dropNamespace({ id: ['x'] })
        expect((await created).properties).toEqual({ a: 'b' })
        await dropped.catch(error => expect(error).toMatchObject({ code: 1 }))
      })

      test('an empty table has its schema and takes rows', async () => {
        const schema: Schema = {
          fields: [{ name: 'n', type: { kind: 'int', bits: 64, signed: true }, nullable: true }],
        }
        const empty = await ns.createTable('empty', [], { schema })
        expect(await empty.query().toArray()).toEqual([])
        expect(await empty.schema()).toEqual(schema)
        await empty.add([{ n: 7 }, {}])
        expect(await empty.query().toArray()).toEqual([{ n: 7 }, { n: null }])
      })
    })

    describe('rows', () => {
      test('come back unchanged', async () => {
        expect(await table.query().toArray()).toEqual(
          people.map(row => ({
            ...row,
            vector: row.vector === null ? null : Float32Array.from(row.vector as number[]),
          })),
        )
      })

      test('appended rows follow, and take the types of the table', async () => {
        const { version, rows } = await table.add([{ id: 6, vector: [9, 9, 9] }])
        expect([version, rows]).toEqual([2, 1])
        const all = await table.query().toArray()
        expect(all.at(-1)).toEqual({
          id: 6,
          name: null,
          born: null,
          tags: null,
          vector: Float32Array.of(9, 9, 9),
        })
      })

      test('overwriting replaces all rows and keeps the older version', async () => {
        await table.add([{ id: 7 }], { mode: 'overwrite' })
        expect(await ids(table.query().toArray())).toEqual([7])
        expect(await ids((await table.checkout(1)).query().toArray())).toEqual([1, 2, 3, 4, 5])
      })

      test('concurrent writers all succeed, each in its own version', async () => {
        const added = await Promise.all(Array.from({ length: 20 }, (_, i) => table.add([{ id: 100 + i }])))
        expect(new Set(added.map(({ version }) => version)).size).toBe(20)
        expect(await table.countRows('id >= 100')).toBe(20)
        expect(await table.version()).toBe(21)
      })

      test('A-113 A-114 deleted rows are missing in the latest version, not in the one before', async () => {
        expect(await table.delete('born < ? OR born IS NULL', [1900])).toEqual({ version: 2, rows: 2 })
        expect(await ids(table.query().toArray())).toEqual([2, 3, 5])
        expect(await table.countRows()).toBe(3)
        expect(await ids(table.search(near).limit(9).toArray())).toEqual([2, 3])
        expect(await (await table.checkout(1)).countRows()).toBe(5)
        expect(await table.delete('id = 1')).toEqual({ version: 2, rows: 0 })
        await table.delete('true')
        expect(await table.countRows()).toBe(0)
        expect(await failure(table.delete(' '))).toMatchObject({ code: 13 })
      })

      test('many concurrent deletes all succeed', async () => {
        const many = await ns.createTable(
          'many',
          Array.from({ length: 100 }, (_, id) => ({ id })),
        )
        await Promise.all(Array.from({ length: 60 }, (_, id) => many.delete(`id = ${id}`)))
        expect(await many.countRows()).toBe(40)
      })

      test('concurrent deletes each count the rows they deleted', async () => {
        const counts = await Promise.all([1, 2, 3, 4, 5].map(id => table.delete(`id = ${id} OR id = 3`)))
        expect(counts.reduce((sum, { rows }) => sum + rows, 0)).toBe(5)
        expect(await table.countRows()).toBe(0)
      })

      test('a row id stays with its row through appends and deletes', async () => {
        const before = await table.query().select(['id']).withRowId().toArray()
        await table.add([{ id: 6 }])
        await table.delete('id = 2')
        const after = await table.query().select(['id']).withRowId().toArray()
        expect(after.slice(0, -1)).toEqual(before.filter(row => row.id !== 2))
        expect(new Set(after.map(row => row._rowid)).size).toBe(after.length)
      })
    })

    describe('bad rows', () => {
      const refused = async (rows: Row[], error: object) => {
        expect(await failure(table.add(rows))).toMatchObject(error)
        expect(await table.version()).toBe(1)
      }

      test('a vector of another dimension names column and row', async () => {
        await refused(
          [
            { id: 1, vector: [1, 2, 3] },
            { id: 2, vector: [1, 2] },
          ],
          { status: 400, message: expect.stringMatching(/vector.*row 1|row 1.*vector/) },
        )
      })

      test('NaN and infinity in a vector name the row', async () => {
        await refused(
          [
            { id: 1, vector: [1, 2, 3] },
            { id: 2, vector: [1, Number.NaN, 3] },
          ],
          { status: 400, message: expect.stringContaining('row 1') },
        )
        await refused([{ id: 2, vector: [1, 2, Number.POSITIVE_INFINITY] }], { status: 400 })
      })

      test('an unknown column names the nearest', async () => {
        await refused([{ id: 1, nam: 'x' }], { hint: expect.stringContaining('name') })
      })

      test('a value of another type names the column', async () => {
        await refused([{ id: 'one' }], { status: 400, message: expect.stringContaining('id') })
      })

      test('input that is not rows is refused', async () => {
        expect(await failure(ns.createTable('x', 42 as never))).toMatchObject({ code: 13 })
        expect(await failure(ns.createTable('x', [1, 2] as never))).toMatchObject({ status: 400 })
        expect(await ns.tableNames()).toEqual(['people'])
      })

      test('a truncated Arrow body leaves no partial table', async () => {
        const bytes = await table.query().toIpc()
        for (const length of [0, 7, 200, bytes.length - 12]) {
          expect(
            await failure(ns.operations.createTable({ id: ['cut'] }, bytes.slice(0, length))),
          ).toMatchObject({ status: 400 })
        }
        expect(await ns.tableNames()).toEqual(['people'])
        await ns.operations.createTable({ id: ['whole'] }, bytes)
        expect(await (await ns.openTable('whole')).countRows()).toBe(5)
      })
    })

    describe('search', () => {
      test('A-045 the distances are squared l2, 1 - cosine, 1 - dot', async () => {
        const found = async (metric: 'l2' | 'cosine' | 'dot') => {
          const rows = await table.search([2, 0, 0]).distanceType(metric).select(['id']).toArray()
          return rows.map(row => [row.id, row._distance])
        }
        expect(await found('l2')).toEqual([
          [3, 0],
          [2, 1],
          [4, 1],
          [1, 5],
        ])
        expect(await found('cosine')).toEqual([
          [2, 0],
          [3, 0],
          [4, 0],
          [1, 1],
        ])
        expect(await found('dot')).toEqual([
          [4, -5],
          [3, -3],
          [2, -1],
          [1, 1],
        ])
      })

      test('A-046 ties are broken by row id', async () => {
        await table.add([
          { id: 12, vector: near },
          { id: 11, vector: near },
        ])
        expect(await ids(table.search(near).limit(3).toArray())).toEqual([2, 12, 11])
      })

      test('A-047 the lower bound counts, the upper does not', async () => {
        const between = (lower?: number, upper?: number) =>
          ids(table.search([0, 0, 0]).distanceRange(lower, upper).toArray())
        expect(await between(1, 9)).toEqual([1, 2, 3])
        expect(await between(4, 4)).toEqual([])
        expect(await between(undefined, 1.5)).toEqual([1, 2])
        expect(await between(4)).toEqual([3, 4])
      })

      test('A-048 the offset skips after ordering', async () => {
        expect(await ids(table.search(near).limit(2).offset(1).toArray())).toEqual([3, 1])
        expect(await ids(table.search(near).limit(2).offset(9).toArray())).toEqual([])
        expect(await ids(table.query().limit(2).offset(3).toArray())).toEqual([4, 5])
      })

      test('A-053 A-054 a prefilter is never short, a postfilter may be', async () => {
        const search = table.search(near).where('id <> 2').limit(1)
        expect(await ids(search.toArray())).toEqual([3])
        expect(await ids(search.postfilter().toArray())).toEqual([])
      })

      test('A-056 three-valued logic: NOT excludes nulls', async () => {
        expect(await ids(table.query().where('NOT (born = 1815)').toArray())).toEqual([2, 3, 5])
        expect(await ids(table.query().where('born NOT IN (1815, NULL)').toArray())).toEqual([])
        expect(await ids(table.query().where('born IS NULL').toArray())).toEqual([4])
      })

      test('A-057 an unknown column in a filter names the nearest one and the place', async () => {
        expect(await failure(table.query().where('id > 1 AND nmae = 3').toArray())).toMatchObject({
          code: 12,
          status: 404,
          hint: 'did you mean "name"?',
          at: { offset: 11, length: 4 },
        })
      })

      test('a filter fails for the rows it evaluates, not for deleted ones', async () => {
        const zeros = await ns.createTable('zeros', [{ n: 0n }, { n: 4n }])
        expect(await failure(zeros.countRows('8 / n = 2'))).toMatchObject({ code: 13, status: 400 })
        await zeros.delete('n = 0')
        expect(await zeros.countRows('8 / n = 2')).toBe(1)
      })

      test('a filter takes parameters, so that values need no quoting', async () => {
        expect(await ids(table.query().where('name = ?', ["D'Arcy"]).toArray())).toEqual([4])
        expect(await ids(table.query().where('id IN ($1, $2)', [1, 3]).toArray())).toEqual([1, 3])
        expect(await ids(table.query().where('born > :year', { year: 1910 }).toArray())).toEqual([3, 5])
      })

      test('a filter that cannot be parsed says where', async () => {
        expect(await failure(table.query().where('id = 1; drop table people').toArray())).toMatchObject({
          code: 13,
          at: { offset: 6 },
        })
        expect(await failure(table.query().where('id = = 1').toArray())).toMatchObject({
          code: 13,
          at: { offset: 5 },
        })
        expect(await failure(table.countRows("name = 'x"))).toMatchObject({ code: 13 })
      })

      test('A-060 columns are selected and ordered by name, and the distance follows', async () => {
        expect(Object.keys((await table.search(near).select(['name', 'id']).limit(1).toArray())[0]!)).toEqual(
          ['name', 'id', '_distance'],
        )
        expect(await failure(table.query().select(['nam']).toArray())).toMatchObject({
          code: 12,
          hint: 'did you mean "name"?',
        })
        expect(() => table.query().select(['id', 'id'])).toThrow('select must not contain "id" twice')
      })

      test('A-064 a past version gives the rows it had', async () => {
        await table.add([{ id: 6, vector: near }])
        await table.delete('id = 2')
        const old = await table.checkout(1)
        expect(await ids(old.search(near).limit(2).toArray())).toEqual([2, 3])
        expect(await failure(table.checkout(9))).toMatchObject({ code: 11, status: 404 })
        expect(await failure(old.add([{ id: 1 }]))).toMatchObject({ code: 13 })
      })

      test('a row too far for a 32-bit float is found last, not lost', async () => {
        const far = await ns.createTable('far', [
          { id: 1, vector: [1e20, 0] },
          { id: 2, vector: [-1e20, 0] },
          { id: 3, vector: [1, 1] },
        ])
        expect(await ids(far.search([0, 0]).toArray())).toEqual([3, 1, 2])
        expect(await ids(far.search([0, 0]).distanceRange(0, 10).toArray())).toEqual([3])
      })

      test('A-071 A-073 no rows is an answer, with the schema', async () => {
        const { schema, batches } = decodeIpc(
          await table.search(near).where('id > 99').select(['id']).toIpc(),
        )
        expect(schema.fields.map(field => field.name)).toEqual(['id', '_distance'])
        expect(batches.reduce((sum, batch) => sum + batch.length, 0)).toBe(0)
        expect(await ids(table.search(near).limit(0).toArray())).toEqual([])
        expect(await ids(table.search(near).limit(1000).toArray())).toEqual([2, 3, 1, 4])
      })

      test('A-063 row ids are unique, and the same at every read of a version', async () => {
        const read = async () =>
          (await table.query().select(['id']).withRowId().toArray()).map(row => row._rowid)
        expect(new Set(await read()).size).toBe(5)
        expect(await read()).toEqual(await read())
        expect(await ids(table.query().where('_rowid IN (0, 2)').toArray())).toEqual([1, 3])
      })

      test('a vector that fits no column, or several, is refused', async () => {
        expect(await failure(table.search([1, 2]).toArray())).toMatchObject({
          code: 13,
          message: expect.stringContaining('3'),
        })
        expect(await failure(table.search([1, 2, 3]).column('name').toArray())).toMatchObject({ code: 13 })
        expect(() => table.search([1, Number.NaN, 3])).toThrow('search: [1] must be a finite number, got NaN')
        const two = await ns.createTable('two', [{ a: [1, 2], b: [3, 4] }], { vectorColumns: ['a', 'b'] })
        expect(await failure(two.search([1, 2]).toArray())).toMatchObject({
          code: 13,
          hint: expect.stringContaining('vector_column'),
        })
        expect(await two.search([3, 4]).column('b').select(['b']).toArray()).toEqual([
          { b: Float32Array.of(3, 4), _distance: 0 },
        ])
      })

      test('unsupported options are refused, and none is ignored', async () => {
        const query = { id: ['people'], k: 1, vector: { single_vector: near } }
        expect(await failure(ns.operations.queryTable({ ...query, branch: 'other' }))).toMatchObject({
          code: 0,
          status: 406,
        })
      })

      test('an aborted call rejects with the reason', async () => {
        const reason = new Error('enough')
        expect(await failure(table.search(near).toArray({ signal: AbortSignal.abort(reason) }))).toBe(reason)
        expect(await failure(table.add([{ id: 1 }], { signal: AbortSignal.abort(reason) }))).toBe(reason)
        expect(await table.version()).toBe(1)
      })
    })

    describe('versions and tags', () => {
      test('versions are listed in order, with V2 manifest names', async () => {
        await table.add([{ id: 6 }])
        const versions = await table.versions()
        expect(versions.map(({ version }) => version)).toEqual([1, 2])
        expect(versions[0]!.manifest_path).toMatch(/_versions\/18446744073709551614\.manifest$/)
        expect(versions[1]!.timestamp_millis).toBeGreaterThanOrEqual(versions[0]!.timestamp_millis)
      })

      test('a tag reads the version it names, also after it was moved', async () => {
        await table.add([{ id: 6 }])
        await table.tags.create('stable', 1)
        const stable = await table.checkout('stable')
        expect(await stable.countRows()).toBe(5)
        await table.tags.update('stable', 2)
        expect(await stable.countRows()).toBe(5)
        expect(await (await table.checkout('stable')).countRows()).toBe(6)
        expect(await table.tags.list()).toEqual(new Map([['stable', 2]]))
        await table.tags.delete('stable')
        expect(await failure(table.tags.version('stable'))).toMatchObject({ code: 8 })
      })

      test('A-155 tag names', async () => {
        for (const bad of ['', '../x', 'a/b', '.hidden', 'x.lock', 'a b', '__proto__']) {
          const message = expect.stringMatching(/^tags\.create: the tag /)
          expect(await failure(table.tags.create(bad, 1))).toMatchObject({ code: 13, message })
        }
        for (const good of ['v1.0', 'a_b-c', 'constructor']) {
          await table.tags.create(good, 1)
          expect(await table.tags.version(good)).toBe(1)
        }
        expect([...(await table.tags.list()).keys()].sort()).toEqual(['a_b-c', 'constructor', 'v1.0'])
      })
    })
  })
}
