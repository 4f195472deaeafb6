/** What `inspect` finds and how it tells of it; test/adapters/cli/main.test.ts runs the program. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describeTable, detailTable } from '../../../adapters/cli/inspect-table.js'
import { describeDetails, describeRest, describeTree } from '../../../adapters/cli/inspect-text.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import { connect, type Namespace, schema } from '../../../src/index.js'
import { temporaryRoots } from '../../support/roots.js'

const freshFolder = temporaryRoots()
const { signal } = new AbortController()

/** Without what is another every time. */
function timeless(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'now').replace(/\d{4}-\d\d-\d\d/g, 'today')
}

describe('a table', () => {
  test('of LanceDB is printed with the tags in its folder', async () => {
    const golden = join(import.meta.dirname, '../../golden/lance-tables/plain.lance')
    const folder = freshFolder()
    cpSync(golden, join(folder, 'pets'), { recursive: true })
    await using ns = await connect(folder)
    await ns.operations.registerTable({ id: ['pets'], location: 'pets' })
    await (await ns.openTable('pets')).tags.create('mine', 3)
    const facts = await describeTable(ns, ['pets'], signal)
    expect(facts.tags).toEqual([
      { name: 'mine', version: 3 },
      { name: 'first', version: 1, directory: true },
    ])
    expect(describeTree(facts).split('\n').slice(1)).toEqual([
      '  tag mine = v3',
      '  tag first = v1 (in LanceDB only)',
    ])
  })

  test('is printed with its indexes, tags, columns, fragments and versions', async () => {
    await using ns = await connect('memory://')
    const table = await ns.createTable(
      't',
      Array.from({ length: 1000 }, (_, id) => ({ id, name: `n${id}` })),
      { properties: { owner: 'ann' } },
    )
    await table.createIndex('id', { waitTimeoutMs: 10_000 })
    await table.delete('id < 10')
    await table.add([{ id: 5000, name: 'late' }])
    await table.tags.create('then', 2)
    await table.updateFieldMetadata('name', { note: 'two\nlines' })
    const details = await detailTable(ns, ['t'], signal)
    expect(details).toMatchObject({
      kind: 'table',
      rows: 991,
      deadRows: 10,
      fragments: 2,
      tags: [{ version: 2 }],
    })
    const [head, where, ...lines] = timeless(describeDetails(details)).split('\n')
    expect(head).toMatch(/^t {2}v5 now \(.*\) {2}991 rows {2}[\d.]+ kB {2}2 fragments {2}10 deleted rows$/)
    expect(where).toContain(details.uuid)
    expect(lines.map(line => line.replace(/[\d.]+ kB/, 'n kB'))).toEqual([
      '  properties  owner=ann',
      'columns',
      '  id    float64',
      '  name  utf8     note="two\\nlines"',
      'fragments',
      '  2, of 1 to 990 rows, median 1',
      'indexes',
      '  id_idx  BTREE on id  990 rows, 1 unindexed  n kB  stale',
      '    today',
      'tags',
      '  then  v2',
      'versions, newest first',
      '  v5  now  schema',
      '  v4  now  append',
      '  v3  now  delete',
      '  v2  now  index',
      '  v1  now  create',
    ])
    expect(describeTree(details).split('\n')).toHaveLength(3)
  })

  test('types of columns have their units and time zones', async () => {
    await using ns = await connect('memory://')
    const columns = schema({ a: 'timestamp(ns)', b: 'timestamp(s, UTC)', c: 'time(ms)', d: 'duration(s)' })
    await ns.createTable('t', [], { schema: columns })
    const details = await detailTable(ns, ['t'], signal)
    expect(details.columns.map(({ type }) => type)).toEqual([
      'timestamp(ns)',
      'timestamp(s, UTC)',
      'time(ms)',
      'duration(s)',
    ])
  })

  test('a table without rows and a view are printed as such', async () => {
    await using ns = await connect('memory://')
    await ns.operations.declareTable({ id: ['d'] })
    await ns.createTable('t', [{ a: 1 }])
    await ns.createView('v', { source: 't' })
    expect(describeTree(await describeTable(ns, ['d'], signal))).toBe('d  declared')
    expect(describeDetails(await detailTable(ns, ['d'], signal))).toMatch(
      /^d {2}declared\n {2}uuid \S+, in \S+$/,
    )
    const view = await describeTable(ns, ['v'], signal)
    expect(view).toMatchObject({ kind: 'view', view: { source: 't', version: 1 } })
    expect(describeTree(view)).toMatch(/^v {2}view {2}v2 .* {2}of t v1$/)
  })

  test('a damaged table does not keep the other tables from being printed', async () => {
    const damaged = () => Promise.reject(new SheafError(ErrorCode.Internal, 'page x is torn'))
    const ns = { operations: { describeTable: damaged } } as unknown as Namespace
    const facts = await describeTable(ns, ['n', 't'], signal)
    expect(describeTree(facts)).toBe('  t  damaged  page x is torn')
    await expect(detailTable(ns, ['n', 't'], signal)).rejects.toMatchObject({ code: ErrorCode.Internal })
  })
})

test('jobs and omitted items are printed last', () => {
  const progress = { done: 1, total: 3, phase: 'training' }
  expect(
    describeRest(1200, [
      { id: '7-a', type: 'create_index', table: ['n', 't'], state: 'running', progress },
      { id: '5-b', type: 'refresh', table: null, state: 'failed', reason: 'no such column' },
    ]),
  ).toBe(
    '... and 1,200 tables more\njob 7-a  create_index of n$t  running: training, 1 of 3\njob 5-b  refresh  failed: no such column',
  )
})
