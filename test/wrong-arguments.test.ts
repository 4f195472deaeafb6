/**
 * Every call of the public API, with each of its arguments of a wrong kind: an error of ours that names the call, and nothing happens.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as azure from '../adapters/azure/public.js'
import * as files from '../adapters/files/public.js'
import * as gcs from '../adapters/gcs/public.js'
import * as http from '../adapters/http/public.js'
import * as s3 from '../adapters/s3/public.js'
import * as storage from '../adapters/storage/public.js'
import * as worker from '../adapters/worker/public.js'
import * as sheaf from '../src/index.js'
import { type Namespace, SheafError, type Table } from '../src/index.js'
import { operationNames } from '../src/protocol/operations.js'
import { MemoryStore } from '../src/storage/memory-store.js'

const kinds: Readonly<Record<string, unknown>> = {
  undefined,
  null: null,
  text: 'some text',
  blank: '',
  number: 7,
  fraction: 0.5,
  bigint: 7n,
  boolean: true,
  array: [[]],
  object: { notKnown: 1 },
  function: () => {},
  symbol: Symbol('x'),
  date: new Date(0),
  map: new Map(),
  promise: Promise.resolve({}),
}

type Kind =
  | 'undefined'
  | 'null'
  | 'text'
  | 'blank'
  | 'number'
  | 'fraction'
  | 'bigint'
  | 'boolean'
  | 'array'
  | 'object'
  | 'function'

/** A value that is right, and the kinds that are not wrong. */
type Argument = readonly [good: unknown, ...right: (Kind | (string & {}))[]]

const options: Argument = [{}, 'undefined']
const name: Argument = ['t', 'text']
const identifier: Argument = ['t', 'text', 'array']
const filter: Argument = ['id = 1', 'text']
const filterOrNone: Argument = ['id = 1', 'text', 'undefined']
const values: Argument = [undefined, 'undefined', 'array', 'object']
const version: Argument = [1, 'number']
const versionOrTag: Argument = [1, 'number', 'text']
const columns: Argument = [['id'], 'array', 'object']
const count: Argument = [1, 'number']

let ns: Namespace
let table: Table

beforeAll(async () => {
  ns = await sheaf.connect('memory://')
  table = await ns.createTable('t', [{ id: 1, text: 'a', v: Float32Array.of(1, 2) }])
})
afterAll(() => ns.close())

const search = () => table.query()
const merge = () => table.mergeInsert('id').whenNotMatchedInsertAll()
const take = () => table.takeRowIds([0])
const added = () => table.diff(1, 1).added
const changed = () => table.diff(1, 1).changed
const once = (rows: AsyncIterable<unknown>) => rows[Symbol.asyncIterator]().next()

const rows: Argument = [[{ id: 2 }], 'array', 'map']

interface Call {
  readonly what: string
  readonly call: (...args: never[]) => unknown
  readonly args: readonly Argument[]
}

/** Methods of a handle, by the arguments of each. */
function methods(
  of: string,
  handle: () => object,
  calls: Readonly<Record<string, readonly Argument[]>>,
): Call[] {
  return Object.entries(calls).map(([method, args]) => ({
    what: `${of}.${method}`,
    call: (...given: never[]) => {
      const result = (handle() as Record<string, (...args: never[]) => unknown>)[method]!(...given)
      const isIterable = typeof result === 'object' && result !== null && Symbol.asyncIterator in result
      return isIterable ? once(result as AsyncIterable<unknown>) : result
    },
    args,
  }))
}

const namespaceMethods = {
  createTable: [identifier, rows, options],
  createView: [identifier, [{ source: 't' }]],
  openTable: [identifier, options],
  table: [identifier],
  renameTable: [identifier, identifier, options],
  dropTable: [identifier, options],
  tableNames: [[[], 'undefined', 'text', 'blank', 'array'], options],
  createNamespace: [identifier, options],
  dropNamespace: [identifier, options],
  namespaceNames: [[[], 'undefined', 'text', 'blank', 'array'], options],
  listJobs: [options],
  cancelJob: [name, options],
  snapshot: [options],
  transaction: [[async () => {}, 'function'], options],
  watch: [options],
  optimize: [options],
  tableAt: [name, options],
  stats: [],
  verify: [options],
  close: [],
} satisfies Readonly<Record<string, readonly Argument[]>>

const tableMethods = {
  add: [rows, options],
  delete: [filter, values, options],
  update: [[{ id: 2 }], filter, values, options],
  mergeInsert: [name],
  upload: [options],
  resumeUpload: [name, options],
  scan: [options],
  slice: [name],
  upsert: [rows, [{ on: 'id' }]],
  get: [[1, 'text', 'blank', 'number', 'fraction', 'bigint', 'boolean', 'date'], options],
  query: [],
  prepare: [[(query: unknown) => query]],
  search: [[[1, 2], 'text', 'blank']],
  takeRowIds: [[[0], 'array', 'map']],
  takeOffsets: [[[0], 'array', 'map']],
  countRows: [filterOrNone, values, options],
  version: [options],
  versions: [options],
  diff: [versionOrTag, versionOrTag],
  changes: [[{ since: 1 }]],
  schema: [options],
  addColumns: [[{ n: '1' }], options],
  alterColumns: [[{ id: { nullable: true } }], options],
  dropColumns: [[['text']], options],
  backfillColumn: [name, options],
  refresh: [options],
  createIndex: [name, options],
  listIndices: [options],
  indexStats: [name, options],
  tokenize: [name, ['a', 'text', 'blank'], options],
  dropIndex: [name, options],
  waitForIndex: [[['t'], 'text', 'array'], options],
  updateFieldMetadata: [name, [{ a: 'b' }], options],
  updateSchemaMetadata: [[{ a: 'b' }], options],
  restore: [versionOrTag, options],
  checkout: [versionOrTag, options],
} satisfies Readonly<Record<string, readonly Argument[]>>

const searchMethods = {
  where: [filter, values],
  select: [columns],
  groupBy: [name],
  having: [filter, values],
  distinct: [],
  orderBy: [name],
  limit: [count],
  offset: [count],
  distanceType: [['l2']],
  column: [name],
  distanceRange: [
    [1, 'number', 'fraction', 'undefined'],
    [1, 'number', 'fraction', 'undefined'],
  ],
  nprobes: [count],
  ef: [count],
  refineFactor: [count],
  fullText: [['a', 'text', 'blank'], options],
  fuse: [[{}, 'function'], options],
  highlight: [options],
  bypassVectorIndex: [],
  fastSearch: [],
  postfilter: [],
  withRowId: [],
  toArray: [options],
  first: [options],
  count: [options],
  page: [options],
  prepare: [],
  toArrow: [options],
  toIpc: [options],
  batches: [options],
  explain: [options],
  analyze: [options],
} satisfies Readonly<Record<string, readonly Argument[]>>

const tagMethods = {
  create: [name, version, options],
  update: [name, version, options],
  delete: [name, options],
  version: [name, options],
  list: [options],
} satisfies Readonly<Record<string, readonly Argument[]>>

const mergeMethods = {
  whenMatchedUpdateAll: [options],
  whenNotMatchedInsertAll: [],
  whenNotMatchedBySourceDelete: [options],
  execute: [rows, options],
  upload: [options],
} satisfies Readonly<Record<string, readonly Argument[]>>

const takeMethods = { select: [columns], withRowId: [], toArray: [options], toArrow: [options] }
const partMethods = { count: [options], toArray: [options], batches: [options] }

const path: Argument = ['memory://', 'text']
const source: Argument = [(async function* () {})(), 'text', 'blank']
const target: Argument = [join('no', 'such', 'folder'), 'text']

const calls: readonly Call[] = [
  ...methods('Namespace', () => ns, namespaceMethods),
  ...methods('Table', () => table, tableMethods),
  ...methods('Search', search, searchMethods),
  ...methods('Tags', () => table.tags, tagMethods),
  ...methods('MergeInsert', merge, mergeMethods),
  ...methods('Take', take, takeMethods),
  ...methods('DiffRows', added, partMethods),
  ...methods('ChangedRows', changed, partMethods),
  ...methods('sheaf', () => sheaf, {
    connect: [path, options],
    verify: [path, options],
    moveLog: [path, [{ to: 'files' }, 'object']],
    work: [path, options],
    workOnJob: [path, name, options],
    tokenize: [['a', 'text', 'blank'], options],
  }),
  ...methods('sql', () => sheaf.sql, { name: [name] }),
  ...methods('http', () => http, {
    serve: [[{ operations: {} }], options],
    handler: [[{ operations: {} }], options],
    connectHttp: [['http://127.0.0.1:1'], options],
    databases: [name, options],
  }),
  ...methods('worker', () => worker, { connectWorker: [path, options] }),
  ...methods('files', () => files, {
    readCsv: [source, options],
    readJsonLines: [source, options],
    readArrow: [source, options],
    readParquet: [source, options],
    writeCsv: [target, rows, options],
    writeJsonLines: [target, rows, options],
    writeArrow: [target, rows, options],
    writeParquet: [target, rows, options],
    writeLance: [target, rows, options],
  }),
  ...methods('azure', () => azure, { openAzureStore: [[{ container: 'c' }]] }),
  ...methods('gcs', () => gcs, { openGcsStore: [[{ bucket: 'b' }]] }),
  ...methods('s3', () => s3, { openS3Store: [[{ bucket: 'b' }]] }),
  ...methods('storage', () => storage, { checkStore: [[new MemoryStore(), 'rows'], options] }),
]

/** Fields of requests, and operations that no call of the library is called like. */
const wireNames = new RegExp(
  `\\b(?:[a-z]+(?:_[a-z]+)+|${operationNames.filter(name => !(name in { ...namespaceMethods, ...tableMethods })).join('|')})\\b`,
)

const wrong = calls.flatMap(({ what, call, args }) =>
  args.flatMap(([, ...right], place) =>
    Object.keys(kinds)
      .filter(kind => !(right as string[]).includes(kind))
      .map(kind => [what, place + 1, kind, call, args] as const),
  ),
)

test.each(wrong)('%s, argument %i: %s', async (_, place, kind, call, args) => {
  const given = args.map(([good], i) => (i === place - 1 ? kinds[kind] : good))
  const error = await (async () => call(...(given as never[])))().then(
    result => expect.fail(`was accepted, and gave ${String(result)}`),
    error => error,
  )
  expect(error).toBeInstanceOf(SheafError)
  expect([12, 13, 20]).toContain(error.code)
  expect(error.message.match(wireNames)).toBeNull()
})

describe('further arguments are refused', () => {
  const takesMany = ['sql.name', 'Table.mergeInsert', 'Search.groupBy', 'Search.orderBy']

  test.each(calls.filter(({ what }) => !takesMany.includes(what)))('$what', async ({ call, args }) => {
    const given = [...args.map(([good]) => good), 'one more']
    const error = await (async () => call(...(given as never[])))().then(
      () => expect.fail('was accepted'),
      error => error,
    )
    expect(error).toMatchObject({ code: 13, message: expect.stringMatching(/"one more"/) })
  })
})

test('no method is missing', () => {
  const own = (type: { readonly prototype: object }) =>
    Object.getOwnPropertyNames(type.prototype).filter(name => name !== 'constructor')
  expect(Object.keys(namespaceMethods).sort()).toEqual(own(sheaf.Namespace).sort())
  expect(Object.keys(tableMethods).sort()).toEqual(own(sheaf.Table).sort())
  expect(Object.keys(searchMethods).sort()).toEqual(own(sheaf.Search).sort())
  expect(Object.keys(tagMethods).sort()).toEqual(own(sheaf.Tags).sort())
  expect(Object.keys(mergeMethods).sort()).toEqual(own(sheaf.MergeInsert).sort())
  expect(Object.keys(takeMethods).sort()).toEqual(own(sheaf.Take).sort())
})
