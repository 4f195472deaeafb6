/** No option of the library is ignored: each one that is declared is misspelt, at every depth, in the call that takes it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readCsvShape } from '../../adapters/files/csv-options.js'
import * as files from '../../adapters/files/public.js'
import { readHnswlibShape } from '../../adapters/files/read-hnswlib.js'
import { readHnswlibFolderShape } from '../../adapters/files/read-hnswlib-folder.js'
import { readJsonLinesShape } from '../../adapters/files/read-json-lines.js'
import { readParquetShape } from '../../adapters/files/read-parquet.js'
import { readSqliteShape } from '../../adapters/files/read-sqlite.js'
import { readShape } from '../../adapters/files/source.js'
import { writeShape } from '../../adapters/files/target.js'
import { writeArrowShape } from '../../adapters/files/write-arrow.js'
import { writeCsvShape } from '../../adapters/files/write-csv.js'
import { writeLanceShape } from '../../adapters/files/write-lance.js'
import { writeParquetShape } from '../../adapters/files/write-parquet.js'
import { connectHttpShape } from '../../adapters/http/client.js'
import { databasesShape } from '../../adapters/http/databases.js'
import { handlerShape, serveShape } from '../../adapters/http/options.js'
import * as http from '../../adapters/http/public.js'
import { connectWorkerShape } from '../../adapters/worker/client.js'
import * as worker from '../../adapters/worker/public.js'
import { changesShape } from '../../src/client/changes.js'
import { columnChangesShape, columnDefinitionShape } from '../../src/client/column-fields.js'
import { connectShape } from '../../src/client/connect-options.js'
import { ChangedRows, DiffRows } from '../../src/client/diff.js'
import { textShape } from '../../src/client/full-text.js'
import { mergeConditionShape, mergeShape } from '../../src/client/merge-insert.js'
import {
  createNamespaceShape,
  createTableShape,
  createViewShape,
  dropNamespaceShape,
} from '../../src/client/namespace.js'
import { orderShape } from '../../src/client/order-keys.js'
import { PreparedQuery } from '../../src/client/prepared-query.js'
import { rowsShape } from '../../src/client/rows-options.js'
import {
  batchesShape,
  candidatesShape,
  fullTextShape,
  fuseShape,
  highlightShape,
  probesShape,
} from '../../src/client/search.js'
import { pageShape } from '../../src/client/search-page.js'
import {
  addShape,
  backfillShape,
  getShape,
  refreshShape,
  updateFieldMetadataShape,
  upsertShape,
} from '../../src/client/table.js'
import { createIndexShape, waitForIndexShape } from '../../src/client/table-indexes.js'
import { scanShape, sliceShape } from '../../src/client/table-scan.js'
import { commitUploadShape, partShape, uploadShape } from '../../src/client/table-upload.js'
import { tokenizeColumnShape, tokenizeShape } from '../../src/client/tokenize-options.js'
import { verifyShape } from '../../src/client/verification.js'
import { moveLogShape } from '../../src/engine/move-log.js'
import { workShape } from '../../src/engine/work.js'
import type { SheafError } from '../../src/errors.js'
import * as sheaf from '../../src/index.js'
import { callShape } from '../../src/protocol/calls.js'
import type { Shape } from '../../src/protocol/shape.js'
import { misspellings } from '../support/misspelt.js'

let ns: sheaf.Namespace
let t: sheaf.Table

beforeAll(async () => {
  ns = await sheaf.connect('memory://')
  t = await ns.createTable('t', [{ id: 1n, name: 'a b', vector: [1, 2] }])
})

afterAll(() => ns.close())

/** The shape of an argument, and a call with a value for it. */
type Checked = readonly [shape: Shape, call: (value: never) => unknown]

const none: readonly Checked[] = []
const search = () => t.search([1, 2])
const merge = () => t.mergeInsert('id').whenNotMatchedInsertAll()
const rows = [{ id: 2 }]

/** Every method of the handles with the names of its parameters, and the arguments of it that have names in them. */
const methods: Readonly<Record<string, Readonly<Record<string, readonly Checked[]>>>> = {
  Namespace: {
    'createTable(id, data, options)': [[createTableShape, o => ns.createTable('u', rows, o)]],
    'createView(id, options)': [[createViewShape, o => ns.createView('v', o)]],
    'openTable(id, options)': [[callShape, o => ns.openTable('t', o)]],
    'table(id)': none,
    'renameTable(from, to, options)': [[callShape, o => ns.renameTable('t', 'u', o)]],
    'dropTable(id, options)': [[callShape, o => ns.dropTable('t', o)]],
    'tableNames(namespace, options)': [[callShape, o => ns.tableNames([], o)]],
    'createNamespace(id, options)': [[createNamespaceShape, o => ns.createNamespace('n', o)]],
    'dropNamespace(id, options)': [[dropNamespaceShape, o => ns.dropNamespace('n', o)]],
    'namespaceNames(namespace, options)': [[callShape, o => ns.namespaceNames([], o)]],
    'listJobs(options)': [[callShape, o => ns.listJobs(o)]],
    'cancelJob(id, options)': [[callShape, o => ns.cancelJob('j', o)]],
    'snapshot(options)': [[callShape, o => ns.snapshot(o)]],
    'transaction(work, options)': [[callShape, o => ns.transaction(async () => {}, o)]],
    'watch(options)': [[callShape, o => ns.watch(o)]],
    'optimize(options)': [[callShape, o => ns.optimize(o)]],
    'tableAt(location, options)': [[callShape, o => ns.tableAt('t', o)]],
    'stats()': none,
    'verify(options)': [[verifyShape, o => ns.verify(o)]],
    'close()': none,
  },
  Table: {
    'add(data, options)': [[addShape, o => t.add(rows, o)]],
    'delete(predicate, parameters, options)': [[callShape, o => t.delete('true', undefined, o)]],
    'update(set, ...given)': [[callShape, o => t.update({ id: 1 }, 'true', undefined, o)]],
    'mergeInsert(...on)': none,
    'upload(options)': [[uploadShape, o => t.upload(o)]],
    'scan(options)': [[scanShape, o => t.scan(o)]],
    'slice(token)': none,
    'resumeUpload(id, options)': [[callShape, o => t.resumeUpload('u', o)]],
    'query()': none,
    'prepare(build)': none,
    'get(key, options)': [[getShape, o => t.get(1, o)]],
    'upsert(data, options)': [[upsertShape, o => t.upsert([], o)]],
    'search(...given)': none,
    'takeRowIds(ids)': none,
    'takeOffsets(offsets)': none,
    'countRows(predicate, parameters, options)': [[callShape, o => t.countRows(undefined, undefined, o)]],
    'version(options)': [[callShape, o => t.version(o)]],
    'versions(options)': [[callShape, o => t.versions(o)]],
    'diff(from, ...given)': [[callShape, o => t.diff(1, 1).schema(o)]],
    'changes(options)': [[changesShape, o => t.changes(o).next()]],
    'schema(options)': [[callShape, o => t.schema(o)]],
    'addColumns(columns, options)': [
      [callShape, o => t.addColumns({ x: 'id' }, o)],
      [columnDefinitionShape, x => t.addColumns({ x })],
    ],
    'alterColumns(changes, options)': [
      [callShape, o => t.alterColumns({ id: { rename: 'x' } }, o)],
      [columnChangesShape, id => t.alterColumns({ id })],
    ],
    'dropColumns(columns, options)': [[callShape, o => t.dropColumns(['name'], o)]],
    'backfillColumn(column, options)': [[backfillShape, o => t.backfillColumn('id', o)]],
    'refresh(options)': [[refreshShape, o => t.refresh(o)]],
    'createIndex(column, options)': [[createIndexShape, o => t.createIndex('id', o)]],
    'listIndices(options)': [[callShape, o => t.listIndices(o)]],
    'indexStats(name, options)': [[callShape, o => t.indexStats('i', o)]],
    'tokenize(column, text, options)': [[tokenizeColumnShape, o => t.tokenize('name', 'a', o)]],
    'dropIndex(name, options)': [[callShape, o => t.dropIndex('i', o)]],
    'waitForIndex(names, options)': [[waitForIndexShape, o => t.waitForIndex('i', o)]],
    'updateFieldMetadata(path, metadata, options)': [
      [updateFieldMetadataShape, o => t.updateFieldMetadata('id', {}, o)],
    ],
    'updateSchemaMetadata(metadata, options)': [[callShape, o => t.updateSchemaMetadata({}, o)]],
    'restore(versionOrTag, options)': [[callShape, o => t.restore(1, o)]],
    'checkout(versionOrTag, options)': [[callShape, o => t.checkout(1, o)]],
  },
  Search: {
    'where(given, parameters)': none,
    'prepare()': none,
    'select(columns)': none,
    'groupBy(...keys)': none,
    'having(filter, parameters)': none,
    'distinct()': none,
    'orderBy(...keys)': [[orderShape, key => search().orderBy(key)]],
    'limit(k)': none,
    'offset(offset)': none,
    'distanceType(metric)': none,
    'column(name)': none,
    'distanceRange(lower, upper)': none,
    'nprobes(n)': [[probesShape, n => search().nprobes(n)]],
    'ef(n)': none,
    'refineFactor(n)': none,
    'fullText(query, options)': [
      [textShape, query => search().fullText(query)],
      [fullTextShape, o => search().fullText('a', o)],
    ],
    'fuse(by, options)': [
      [fuseShape, by => search().fuse(by)],
      [candidatesShape, o => search().fuse(() => [], o)],
    ],
    'highlight(options)': [[highlightShape, o => search().highlight(o)]],
    'bypassVectorIndex()': none,
    'fastSearch()': none,
    'postfilter()': none,
    'withRowId()': none,
    'toArray(given)': [[rowsShape, o => search().toArray(o)]],
    'first(given)': [[rowsShape, o => search().first(o)]],
    'count(options)': [[callShape, o => search().count(o)]],
    'page(options)': [[pageShape, o => search().page(o)]],
    'toArrow(options)': [[callShape, o => search().toArrow(o)]],
    'toIpc(options)': [[callShape, o => search().toIpc(o)]],
    'batches(options)': [[batchesShape, o => search().batches(o).next()]],
    'explain(options)': [[callShape, o => search().explain(o)]],
    'analyze(options)': [[callShape, o => search().analyze(o)]],
  },
  PreparedQuery: {
    'all(values, options)': [[rowsShape, o => search().prepare().all([], o)]],
    'first(values, options)': [[rowsShape, o => search().prepare().first([], o)]],
    'arrow(values, options)': [[callShape, o => search().prepare().arrow([], o)]],
  },
  Take: {
    'select(columns)': none,
    'withRowId()': none,
    'toArray(given)': [[rowsShape, o => t.takeRowIds([0]).toArray(o)]],
    'toArrow(given)': [[callShape, o => t.takeRowIds([0]).toArrow(o)]],
  },
  MergeInsert: {
    'whenMatchedUpdateAll(condition)': [[mergeConditionShape, o => merge().whenMatchedUpdateAll(o)]],
    'whenNotMatchedInsertAll()': none,
    'whenNotMatchedBySourceDelete(condition)': [
      [mergeConditionShape, o => merge().whenNotMatchedBySourceDelete(o)],
    ],
    'execute(data, options)': [[mergeShape, o => merge().execute(rows, o)]],
    'upload(options)': [[callShape, o => merge().upload(o)]],
  },
  TableUpload: {
    'add(data, options)': [[partShape, async o => (await t.upload()).add(rows, o)]],
    'parts(options)': [[callShape, async o => (await t.upload()).parts(o)]],
    'commit(options)': [[commitUploadShape, async o => (await t.upload()).commit(o)]],
    'abort(options)': [[callShape, async o => (await t.upload()).abort(o)]],
  },
  TableScan: {
    'close(options)': [[callShape, async o => (await t.scan()).close(o)]],
  },
  TableSlice: {
    'batches(options)': [[sliceShape, async o => (await t.scan()).slices[0]!.batches(o).next()]],
  },
  Tags: {
    'create(tag, version, options)': [[callShape, o => t.tags.create('v', 1, o)]],
    'update(tag, version, options)': [[callShape, o => t.tags.update('v', 1, o)]],
    'delete(tag, options)': [[callShape, o => t.tags.delete('v', o)]],
    'version(tag, options)': [[callShape, o => t.tags.version('v', o)]],
    'list(options)': [[callShape, o => t.tags.list(o)]],
  },
  DiffRows: {
    'count(options)': [[callShape, o => t.diff(1, 1).added.count(o)]],
    'toArray(given)': [[rowsShape, o => t.diff(1, 1).added.toArray(o)]],
    'batches(options)': [[batchesShape, o => t.diff(1, 1).added.batches(o).next()]],
  },
  ChangedRows: {
    'count(options)': [[callShape, o => t.diff(1, 1).changed.count(o)]],
    'toArray(given)': [[rowsShape, o => t.diff(1, 1).changed.toArray(o)]],
    'batches(options)': [[batchesShape, o => t.diff(1, 1).changed.batches(o).next()]],
  },
}

const source = (async function* () {})()
const target = join('no', 'such', 'folder')

/** Every function that the package exports. */
const functions: Readonly<Record<string, readonly Checked[]>> = {
  connect: [[connectShape, o => sheaf.connect('memory://', o)]],
  verify: [[verifyShape, o => sheaf.verify('no such folder', o)]],
  moveLog: [[moveLogShape, o => sheaf.moveLog('memory://', { to: 'files', ...(o as object) })]],
  work: [[workShape, o => sheaf.work('memory://', o)]],
  workOnJob: [[workShape, o => sheaf.workOnJob('memory://', 'j', o)]],
  tokenize: [[tokenizeShape, o => sheaf.tokenize('a', o)]],
  sql: none,
  serve: [[serveShape, o => http.serve(ns, o)]],
  handler: [[handlerShape, o => http.handler(ns, { allowAnonymous: true, ...(o as object) })]],
  databases: [[databasesShape, o => http.databases('no such folder', o)]],
  connectHttp: [[connectHttpShape, o => http.connectHttp('http://127.0.0.1:1', o)]],
  connectWorker: [[connectWorkerShape, o => worker.connectWorker('memory://', o)]],
  readArrow: [[readShape, o => files.readArrow(source, o).next()]],
  readCsv: [[readCsvShape, o => files.readCsv(source, o).next()]],
  readHnswlib: [
    [readHnswlibShape, o => files.readHnswlib(target, { space: 'l2', dim: 2, ...(o as object) }).next()],
  ],
  readHnswlibFolder: [[readHnswlibFolderShape, o => files.readHnswlibFolder(target, o).next()]],
  readSqlite: [[readSqliteShape, o => files.readSqlite(target, { table: 't', ...(o as object) }).next()]],
  readJsonLines: [[readJsonLinesShape, o => files.readJsonLines(source, o).next()]],
  readParquet: [[readParquetShape, o => files.readParquet(source, o).next()]],
  writeArrow: [[writeArrowShape, o => files.writeArrow(target, [], o)]],
  writeCsv: [[writeCsvShape, o => files.writeCsv(target, [], o)]],
  writeJsonLines: [[writeShape, o => files.writeJsonLines(target, [], o)]],
  writeLance: [[writeLanceShape, o => files.writeLance(target, [], o)]],
  writeParquet: [[writeParquetShape, o => files.writeParquet(target, [], o)]],
}

const classes: Readonly<Record<string, { readonly prototype: object }>> = {
  ...(sheaf as unknown as Readonly<Record<string, { readonly prototype: object }>>),
  DiffRows,
  ChangedRows,
  PreparedQuery,
}

describe('nothing is forgotten', () => {
  test.each(Object.keys(methods))('every method of %s is here, with its parameters', name => {
    const { prototype } = classes[name]!
    const found = Object.getOwnPropertyNames(prototype)
      .filter(method => method !== 'constructor')
      .map(method => signatureOf((prototype as Readonly<Record<string, unknown>>)[method], method))
    expect(found.sort()).toEqual(Object.keys(methods[name]!).sort())
  })

  test('every function and class that the package exports is here', () => {
    const exported = Object.entries({ ...sheaf, ...http, ...worker, ...files }).filter(
      ([, value]) => typeof value === 'function',
    )
    const known = [...Object.keys(functions), ...Object.keys(methods), 'SheafError', 'Ambiguous', 'schema']
    expect(exported.map(([name]) => name).filter(name => !known.includes(name))).toEqual([])
  })

  test('every exported type of options is declared', () => {
    const sources = ['src', 'adapters'].flatMap(folder =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter(path => path.endsWith('.ts'))
        .map(path => readFileSync(join(folder, path), 'utf8')),
    )
    const entries = [
      'src/index.ts',
      ...['files', 'http', 'worker', 'storage', 's3', 'azure', 'gcs'].map(
        each => `adapters/${each}/public.ts`,
      ),
    ]
    const exported = entries.flatMap(path =>
      [...readFileSync(path, 'utf8').matchAll(/\b\w+(?:Options|Settings|Condition|Limits|Order)\b/g)].map(
        ([name]) => name,
      ),
    )
    const declared = (name: string) => sources.some(text => text.includes(`<${name}>()`))
    // Those of one type are parts of all that `createIndex` takes; the others are handed on.
    const parts =
      /^(Scalar|Vector|VectorList|ProductList|VectorGraph|ProductGraph|Text|Create)Index?Options$|^(VectorList|ProductList|VectorGraph|ProductGraph)Options$/
    const included = ['IngestOptions', 'HighlightOptions', 'OperationOptions']
    const missing = exported.filter(name => !declared(name) && !parts.test(name) && !included.includes(name))
    expect(missing).toEqual([])
  })
})

/** `name(parameter, parameter)`, as the source has it. */
function signatureOf(method: unknown, name: string): string {
  const text = String(method)
  const start = text.indexOf('(')
  let depth = 0
  let end = start
  do {
    if ('([{'.includes(text[end]!)) depth++
    if (')]}'.includes(text[end]!)) depth--
    end++
  } while (depth > 0)
  const parameters = text
    .slice(start + 1, end - 1)
    .split(',')
    .map(each => each.split('=')[0]!.trim())
    .filter(each => each !== '')
  return `${name}(${parameters.join(', ')})`
}

describe('a misspelt name is refused with its path, the nearest name and all names', () => {
  const calls = [
    ...Object.entries(methods).flatMap(([name, each]) =>
      Object.entries(each).flatMap(([method, checked]) =>
        checked.map(one => [`${name}.${method}`, one] as const),
      ),
    ),
    ...Object.entries(functions).flatMap(([name, checked]) => checked.map(one => [name, one] as const)),
  ]

  test.each(calls)('%s', async (_, [shape, call]) => {
    const all = misspellings(shape)
    expect(all.length).toBeGreaterThan(0)
    for (const { value, path, known, near } of all) {
      const error = await refusal(() => call(value as never))
      expect(error, path).toMatchObject({ code: 13 })
      // What travels as a whole, like `identity`, has fields.
      expect(error.message.replace('known field', 'known option')).toContain(
        `${path} is not a known option; known: `,
      )
      for (const name of known) expect(error.message).toContain(name)
      expect(error.hint).toBe(`did you mean ${near}?`)
    }
  })

  test('so every row is as it was', async () => {
    expect(await t.version()).toBe(1)
    expect(await ns.tableNames()).toEqual(['t'])
  })
})

async function refusal(call: () => unknown): Promise<SheafError> {
  try {
    await call()
  } catch (error) {
    return error as SheafError
  }
  throw new Error('was accepted')
}

describe('an invalid argument is an error with the names that the caller typed', () => {
  const cases: readonly (readonly [what: string, call: () => unknown, message: string])[] = [
    [
      'search(undefined)',
      () => t.search(undefined as never),
      'search must be a vector: an array of numbers that is not empty, got undefined',
    ],
    [
      'search(null)',
      () => t.search(null as never),
      'search must be a vector: an array of numbers that is not empty, got null',
    ],
    [
      'search([])',
      () => t.search([]),
      'search must be a vector: an array of numbers that is not empty, got []',
    ],
    ['search()', () => (t.search as () => unknown)(), 'search needs a vector or words to search for'],
    ["limit('5')", () => search().limit('5' as never), 'limit must be an integer >= 0, got "5"'],
    ['offset(-1)', () => search().offset(-1), 'offset must be an integer >= 0, got -1'],
    ["select('name')", () => search().select('name' as never), 'select: columns must be an array of names'],
    [
      'groupBy of an array',
      () => search().groupBy(['id'] as never),
      'groupBy takes names as separate arguments, got ["id"]',
    ],
    ['where of nothing', () => search().where(undefined as never), 'where: a condition must be SQL text'],
    [
      'distanceRange(null)',
      () => search().distanceRange(null as never, 1),
      'distanceRange: the lower bound must be a finite number, got null',
    ],
    [
      'postfilter(false)',
      () => (search() as never as { postfilter(on: boolean): unknown }).postfilter(false),
      'postfilter takes no arguments, got false',
    ],
    [
      'a signal for options',
      () => search().toArray(AbortSignal.any([]) as never),
      'toArray takes options in an object',
    ],
    [
      'a promise of options',
      () => sheaf.connect('memory://', Promise.resolve({}) as never),
      'connect takes options in an object',
    ],
    [
      'a kind for options',
      () => t.createIndex('id', 'BTREE' as never),
      'createIndex takes options in an object',
    ],
    [
      'null for an option',
      () => sheaf.tokenize('a', { language: null as never }),
      'tokenize: language must be one of Arabic',
    ],
    [
      'text for a flag',
      () => sheaf.connect('memory://', { readOnly: 'no' as never }),
      'connect: readOnly must be true or false, got "no"',
    ],
    ['an identifier that is none', () => ns.openTable(5 as never), 'openTable: the identifier must be'],
  ]
  test.each(cases)('%s', async (_, call, message) => {
    const error = await refusal(call)
    expect(error).toMatchObject({ code: 13 })
    expect(error.message).toContain(message)
  })
})

test('options may come from a prototype, and are read and checked there', async () => {
  const options = Object.create({ int64: 'string' }) as { int64: 'string' }
  expect(await t.query().select({ n: 'id' }).toArray(options)).toEqual([{ n: '1' }])
  const wrong = Object.create({ int46: 'string' }) as object
  expect((await refusal(() => t.query().toArray(wrong))).message).toContain('int46 is not a known option')
})

test('a function or tokenizer made by a class may have names of its own', async () => {
  class Words {
    readonly name = 'words'
    readonly version = '1'
    readonly separator = ' '
    tokenize(text: string): string[] {
      return text.split(this.separator)
    }
  }
  const terms = sheaf.tokenize('a b', {
    baseTokenizer: 'words',
    tokenizers: [new Words()],
    removeStopWords: false,
  })
  expect(terms.map(({ term }) => term)).toEqual(['a', 'b'])
})

describe('an option of another engine gets an error with the name of Sheaf’s option', () => {
  const cases: readonly (readonly [what: string, call: () => unknown, hint: string])[] = [
    ['orderBy({ desc })', () => search().orderBy({ column: 'id', desc: true } as never), 'ascending: false'],
    ["orderBy('id descending')", () => search().orderBy('id descending'), "write orderBy('year desc')"],
    ["orderBy('id, name')", () => search().orderBy('id, name'), "write orderBy('year desc')"],
    ["orderBy(['id'])", () => search().orderBy(['id'] as never), 'write orderBy("id")'],
    [
      "mergeInsert(['id', 'name'])",
      () => t.mergeInsert(['id', 'name'] as never),
      'write mergeInsert("id", "name")',
    ],
    [
      'createIndex({ metric })',
      () => t.createIndex('vector', { type: 'IVF_FLAT', metric: 'dot' } as never),
      'did you mean distanceType?',
    ],
    ["distanceType('euclidean')", () => search().distanceType('euclidean' as never), 'did you mean l2?'],
    [
      "language: 'german'",
      () => sheaf.tokenize('a', { language: 'german' as never }),
      'did you mean German?',
    ],
    ['a merge of nothing', () => t.mergeInsert('id').execute([{ id: 1n }]), 'whenMatchedUpdateAll()'],
    ['search()', () => (t.search as () => unknown)(), 'write query()'],
    ["serve('./data')", () => http.serve('./data' as never), 'serve(await connect(path))'],
    [
      "search(v, 'vector')",
      () => (t.search as (...all: unknown[]) => unknown)([1, 2], 'vector'),
      'set options by further calls',
    ],
    ...(['where', 'limit', 'select'] as const).map(
      (name, i) =>
        [
          `${name} in a request`,
          () => ns.operations.queryTable({ id: ['t'], k: 1, vector: null, [name]: 'id' } as never),
          `did you mean ${['filter', 'k', 'columns'][i]}?`,
        ] as const,
    ),
    [
      'where in an update',
      () => ns.operations.updateTable({ id: ['t'], where: 'id = 1', updates: [['id', '2']] } as never),
      'did you mean predicate?',
    ],
  ]

  test.each(cases)('%s', async (_, call, hint) => {
    const error = await refusal(call)
    expect([12, 13]).toContain(error.code)
    expect(error.hint).toContain(hint)
  })

  test('lists of known names contain no internal names', async () => {
    const error = await refusal(() => search().toArray({ sgnal: 1 } as never))
    expect(error.message).toMatch(
      /known: int64, vectors, signal, identity, context, idempotencyKey, maxStalenessMs$/,
    )
  })
})
