/**
 * Files that other packages wrote, read by Sheaf and by these packages. Two of the packages compile native code, so they
 * are in the folder `native`. Without better-sqlite3, the tests use `node:sqlite`, if Node has it.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Call, readArguments } from '../../adapters/cli/arguments.js'
import { importSources } from '../../adapters/cli/import.js'
import { readHnswlib, readSqlite } from '../../adapters/files/public.js'
import { flexsearchTokenizer, readFlexsearch } from '../../adapters/flexsearch/public.js'
import { connect } from '../../src/index.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

const load = createRequire(import.meta.url)
const loadNative = createRequire(new URL('./native/package.json', import.meta.url))
const folder = temporaryRoots()()
mkdirSync(folder)

/** Return a package, or null if it cannot be installed or loaded on this machine. */
function packageOf(name: string, from = load) {
  try {
    return from(name)
  } catch {
    console.log(`peers: ${name} skipped, because it cannot be installed or loaded here`)
    return null
  }
}
const hnswlib = packageOf('hnswlib-node', loadNative)
const [sqliteVec, flexsearch] = ['sqlite-vec', 'flexsearch'].map(name => packageOf(name))
const Sqlite = sqlite()

/** Return a class of databases, or null if there is none. */
function sqlite() {
  const Package = packageOf('better-sqlite3', loadNative)
  try {
    // The constructor loads the native part, which another version of Node may have compiled.
    new Package(':memory:').close()
    return Package
  } catch {
    const node = packageOf('node:sqlite')
    return (
      node &&
      class extends node.DatabaseSync {
        constructor(path: string) {
          super(path, { allowExtension: true })
        }
      }
    )
  }
}

async function rowsOf(batches: AsyncIterable<{ toArray(): unknown[] }>) {
  const rows: Record<string, unknown>[] = []
  for await (const batch of batches) rows.push(...batch.toArray().map(row => ({ ...(row as object) })))
  return rows
}

describe.skipIf(hnswlib === null)('hnswlib-node', () => {
  test('returns the same points as readHnswlib for any index', async () => {
    const cases = fc.record({
      space: fc.constantFrom('l2' as const, 'ip' as const, 'cosine' as const),
      dim: fc.integer({ min: 1, max: 40 }),
      m: fc.integer({ min: 2, max: 20 }),
      labels: fc.uniqueArray(fc.nat(1e9), { maxLength: 60 }),
      deleted: fc.nat(5),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ space, dim, m, labels, deleted }) => {
        const index = new hnswlib.HierarchicalNSW(space, dim)
        index.initIndex(labels.length + 1, m, 50, 3)
        for (const label of labels) {
          index.addPoint(
            Array.from({ length: dim }, (_, i) => Math.sin(label + i)),
            label,
          )
        }
        const kept = labels.slice(deleted)
        const points = new Map(kept.map(label => [BigInt(label), index.getPoint(label)]))
        for (const label of labels.slice(0, deleted)) index.markDelete(label)
        index.writeIndexSync(`${folder}/points.bin`)
        const rows = await rowsOf(readHnswlib(`${folder}/points.bin`, { space, dim }))
        const found = new Map(rows.map(({ id, vector }) => [id, [...(vector as Float32Array)]]))
        expect(found).toEqual(points)
      }),
      { numRuns: 100 },
    )
  })
})

describe.skipIf(Sqlite === null)('SQLite', () => {
  function database(name: string, sql: string): string {
    const path = `${folder}/${name}.db`
    const created = new Sqlite(path)
    created.exec(sql)
    created.close()
    return path
  }

  test('declared types give the schema, and integers are exact', async () => {
    const path = database(
      'types',
      `CREATE TABLE "a ""b" (id INTEGER PRIMARY KEY, big BIGINT, name TEXT, score REAL, raw BLOB, ok BOOLEAN, day DATE, any);
       INSERT INTO "a ""b" VALUES (1, 9223372036854775807, 'x', 2, x'0102', 1, '2024-05-06', 7), (2, -9223372036854775808, NULL, 0.5, NULL, 0, NULL, 0.5)`,
    )
    const ns = await connect('memory://')
    const table = await ns.createTable('t', readSqlite(path, { table: 'a "b', types: { day: 'date' } }))
    const rows = await table.query().select(['id', 'name', 'score', 'raw', 'ok', 'day', 'any']).toArray()
    const exact = await rowsOf(readSqlite(path, { query: 'SELECT big FROM "a ""b"' }))
    expect(exact).toEqual([{ big: 2n ** 63n - 1n }, { big: -(2n ** 63n) }])
    expect(rows).toEqual([
      {
        id: 1,
        name: 'x',
        score: 2,
        raw: new Uint8Array([1, 2]),
        ok: true,
        day: new Date('2024-05-06'),
        any: 7,
      },
      { id: 2, name: null, score: 0.5, raw: null, ok: false, day: null, any: 0.5 },
    ])
    await ns.close()
  })

  test('sheaf import reads a table in parts, with vectors, and asks for the table if there are several', async () => {
    const path = database(
      'import',
      `CREATE TABLE docs (id INTEGER, name TEXT, day DATE, embedding BLOB); CREATE TABLE other (x INTEGER);
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO docs SELECT i, 'n' || i, '2024-05-06', x'0000803f00000040' FROM n;
       INSERT INTO other VALUES (7)`,
    )
    const root = `${folder}/import-root`
    const run = (...args: string[]) =>
      importSources(
        readArguments(['import', path, root, ...args]) as Call<'import'>,
        new AbortController().signal,
      )
    await expect(run('--table', 't')).rejects.toThrow('has the tables docs, other')
    await run(
      '--source-table',
      'docs',
      '--vector',
      'embedding:2',
      '--types',
      'day:date',
      '--part-size',
      '4kB',
    )
    await run('--source-table', 'other', '--table', 'x')
    await run('--source-table', 'docs', '--table', 'docs', '--mode', 'append')
    const ns = await connect(root)
    const docs = await ns.openTable('docs')
    const row = { name: 'n1', day: new Date('2024-05-06'), embedding: new Float32Array([1, 2]) }
    expect(await docs.query().where('id = 1').select(['name', 'day', 'embedding']).toArray()).toEqual([
      row,
      row,
    ])
    expect(await docs.countRows()).toBe(6000)
    expect(await (await ns.openTable('x')).query().toArray()).toEqual([{ x: 7 }])
    await ns.close()
  })

  test('reads more rows than a batch, a query, and a table without rows', async () => {
    const path = database(
      'many',
      `CREATE TABLE t (id INTEGER, v TEXT); CREATE TABLE e (id INTEGER, v);
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO t SELECT i, 'v' || i FROM n`,
    )
    let batches = 0
    const ids: bigint[] = []
    for await (const batch of readSqlite(path, { query: 'SELECT id * 2 AS twice FROM t ORDER BY id' })) {
      batches++
      for (const { twice } of batch.toArray()) ids.push(twice)
    }
    expect(batches).toBe(5)
    expect(ids).toEqual(Array.from({ length: 5000 }, (_, i) => BigInt(2 * i + 2)))
    const empty = (await readSqlite(path, { table: 'e' }).next()).value
    expect(
      empty!.schema.fields.map(({ name, type }: { name: string; type: unknown }) => `${name} ${type}`),
    ).toEqual(['id Int64', 'v Utf8'])
  })

  test('comments and semicolons may follow a query', async () => {
    const path = database('comments', 'CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1)')
    const query = "SELECT id FROM t WHERE '; --' <> '' ; -- one; two\n ; /* three */ /* four"
    expect(await rowsOf(readSqlite(path, { query }))).toEqual([{ id: 1n }])
  })

  test('a value that does not fit is an error with row and column', async () => {
    const path = database('bad', `CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1), ('x')`)
    const error = await failure(rowsOf(readSqlite(path, { table: 't' })))
    expect(error).toMatchObject({
      name: 'SchemaValidation',
      message: expect.stringContaining('row 2, column "id"'),
    })
  })

  test('wrong calls are refused', async () => {
    const path = database('calls', 'CREATE TABLE t (id INTEGER, v BLOB)')
    writeFileSync(`${folder}/none.db`, 'this is no database at all, but a text of some length')
    const calls: [string, object][] = [
      [path, {}],
      [path, { table: 't', query: 'SELECT 1' }],
      [path, { table: 'missing' }],
      [path, { query: 'DELETE FROM t' }],
      [path, { query: 'SELECT 1; SELECT 2' }],
      [path, { query: 'SELECT 1; -- one\n/* two */; SELECT' }],
      [path, { query: 'SELECT 1 AS a, 2 AS a' }],
      [path, { table: 't', vectors: { w: 2 } }],
      [path, { table: 't', vectors: { v: 0 } }],
      [`${folder}/absent.db`, { table: 't' }],
      [`${folder}/none.db`, { table: 't' }],
    ]
    for (const [file, options] of calls) {
      const error = await failure(rowsOf(readSqlite(file, options)))
      expect(['InvalidInput', 'ColumnNotFound']).toContain((error as Error).name)
    }
  })

  test.skipIf(sqliteVec === null)('vectors of sqlite-vec become vectors', async () => {
    const path = `${folder}/vec.db`
    const created = new Sqlite(path)
    sqliteVec.load(created)
    created.exec('CREATE VIRTUAL TABLE docs USING vec0(id INTEGER PRIMARY KEY, embedding FLOAT[3])')
    const add = created.prepare('INSERT INTO docs(id, embedding) VALUES (?, ?)')
    add.run(1n, Buffer.from(new Float32Array([1, 0, 0]).buffer))
    add.run(2n, Buffer.from(new Float32Array([0, 0.5, 0]).buffer))
    created.close()
    const ns = await connect('memory://')
    const table = await ns.createTable(
      'docs',
      readSqlite(path, {
        query: 'SELECT id, embedding FROM docs',
        vectors: { embedding: 3 },
        extensions: [sqliteVec.getLoadablePath()],
      }),
    )
    expect(await table.search([0, 0.5, 0]).limit(1).toArray()).toMatchObject([{ id: 2, _distance: 0 }])
    await ns.close()
  })
})

describe.skipIf(flexsearch === null)('flexsearch', () => {
  test('its encoder is a tokenizer, and its stored documents are rows', async () => {
    const { Charset, Document, Encoder } = flexsearch
    const index = new Document({ document: { id: 'id', store: true, index: ['title'] } })
    const documents = Array.from({ length: 300 }, (_, i) => ({ id: i + 1, title: `Title ${i} of Zürich` }))
    for (const document of documents) index.add(document)
    const parts = new Map<string, string>()
    index.export((key: string, data: string) => void parts.set(key, data))
    const encoder = new Encoder(Charset.LatinBalance)
    const ns = await connect('memory://', { tokenizers: [flexsearchTokenizer(encoder, { version: '1' })] })
    const table = await ns.createTable('docs', readFlexsearch(parts))
    expect(await table.query().toArray()).toEqual(documents)
    await table.createIndex('title', {
      type: 'FTS',
      baseTokenizer: 'flexsearch',
      stem: false,
      removeStopWords: false,
      maxTokenLength: null,
      waitTimeoutMs: 60_000,
    })
    expect(await table.query().fullText('zurich').limit(1000).toArray()).toHaveLength(300)
    await ns.close()
  })
})
