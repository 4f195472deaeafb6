/** Rows are asked for: scans, vectors, texts, both. */
import type * as arrow from 'apache-arrow'
import { accepted, type Program, rowsOf } from '../both.js'

const rows = Array.from({ length: 40 }, (_, id) => ({
  id,
  group: `g${id % 4}`,
  price: id % 10 === 9 ? null : (id * 7) % 40,
  tags: id % 3 === 0 ? ['x', 'y'] : ['z'],
  text: id % 5 === 0 ? `a sheaf of wheat${' and corn'.repeat(id)}` : 'a quiver of arrows',
  inner: { n: id, word: `w${id % 2}` },
  vector: [Math.cos(id), Math.sin(id), id / 40, 1],
}))
const [near, far] = [
  [1, 0, 0.1, 1],
  [-1, 0.2, 0.9, 1],
] as const

const filters = [
  'id < 5',
  'id >= 38 OR id = 0',
  "`group` = 'g1' AND price > 10",
  'price IS NULL',
  'price IS NOT NULL AND NOT (id > 3)',
  'id IN (1, 2, 99)',
  'id NOT IN (1, 2) AND id < 5',
  'id BETWEEN 3 AND 5',
  "text LIKE '%sheaf%' AND id < 20",
  "text NOT LIKE 'a q%' AND id < 20",
  "text ILIKE '%SHEAF%' AND id < 8",
  "array_has(tags, 'x') AND id < 10",
  "array_has_any(tags, ['x', 'q']) AND id < 10",
  'inner.n = 7',
  "inner.word = 'w1' AND id < 6",
  'id % 7 = 0',
  'abs(price - 20) < 3',
  "lower(upper(`group`)) = 'g2' AND id < 9",
  "starts_with(text, 'a s') AND id < 11",
  "regexp_match(text, 'sh..f') AND id < 11",
  'CASE WHEN id < 2 THEN true ELSE false END',
  "CAST(id AS STRING) = '12'",
  'coalesce(price, -1) = -1',
  'length(`group`) = 2 AND id < 2',
  'true AND id = 3',
  'false',
] as const

export const queryPrograms: Readonly<Record<string, Program>> = {
  filters: async ({ db, ask }) => {
    const table = await db.createTable('t', rows)
    for (const filter of filters) await ask(filter, rowsOf(table.query().where(filter), 'id'))
  },

  'filters that make no sense': async ({ db, refused }) => {
    const table = await db.createTable('t', rows)
    const bad = [
      ['nowhere = 1', /nowhere/],
      ['id >', /./],
      ['id = (SELECT 1)', /./],
      ['nofunction(id) = 1', /nofunction/],
      ['id + 1', /./],
    ] as const
    for (const [filter, words] of bad) {
      await refused(filter, () => table.query().where(filter).toArray(), words)
    }
  },

  columns: async ({ db, ask, refused }) => {
    const table = await db.createTable('t', rows)
    const few = () => table.query().limit(3)
    await ask('one', few().select('id').toArrow())
    await ask('some, in their order', few().select(['text', 'id']).toArrow())
    await ask(
      'by a map',
      few()
        .select(
          new Map([
            ['id', 'id'],
            ['twice', 'id * 2'],
          ]),
        )
        .toArrow(),
    )
    await ask('by an object', few().select({ n: 'inner.n', sum: 'price + id', up: 'upper(text)' }).toArrow())
    await ask('in another order', rowsOf(few().select({ up: 'upper(text)', n: 'inner.n' }), 'n', 'up'))
    await ask('of a struct', few().select({ word: 'inner.word' }).toArrow())
    await ask('constants', accepted(few().select({ one: '1', word: "'x'" }).toArrow()))
    await ask('without rows', table.query().where('false').select(['id', 'vector']).toArrow())
    await ask('schema alone', few().select({ n: 'id + 1' }).outputSchema())
    await refused('no such column', () => few().select(['nowhere']).toArray(), /nowhere/)
    await refused('no such column in SQL', () => few().select({ x: 'nowhere' }).toArray(), /nowhere/)
  },

  'limits, offsets, orders': async ({ db, ask, refused }) => {
    const table = await db.createTable('t', rows)
    const ids = (query: Parameters<typeof rowsOf>[0]) => rowsOf(query, 'id')
    await ask('limit', ids(table.query().limit(3)))
    await ask('offset', ids(table.query().offset(37)))
    await ask('both', ids(table.query().offset(5).limit(2)))
    await ask('beyond', ids(table.query().offset(50).limit(2)))
    await ask('filtered', ids(table.query().where('id > 10').offset(2).limit(2)))
    const by = (columnName: string, ascending: boolean, nullsFirst: boolean) => ({
      columnName,
      ascending,
      nullsFirst,
    })
    for (const ascending of [true, false]) {
      for (const nullsFirst of [true, false]) {
        const name = `price ${ascending ? 'up' : 'down'}, nulls ${nullsFirst ? 'first' : 'last'}`
        const order = [by('price', ascending, nullsFirst), by('id', true, true)]
        await ask(name, ids(table.query().orderBy(order)))
        await ask(`${name}, a page`, ids(table.query().orderBy(order).offset(3).limit(5)))
      }
    }
    const groups = [by('group', false, false), by('id', true, true)]
    await ask('by text', rowsOf(table.query().orderBy(groups).limit(12), 'group', 'id'))
    await ask('one order', ids(table.query().orderBy({ columnName: 'id', ascending: false }).limit(3)))
    await refused(
      'no such column',
      () =>
        table
          .query()
          .orderBy(by('nowhere', true, true))
          .toArray(),
      /nowhere/,
    )
    await ask(
      'without limit',
      table
        .query()
        .limit(0)
        .toArray()
        .then(rows => rows.length),
    )
  },

  'in pieces': async ({ db, ask }) => {
    const table = await db.createTable('t', rows)
    const seen: unknown[] = []
    for await (const batch of table.query().select(['id']) as unknown as AsyncIterable<{
      toArray(): { id: number }[]
    }>) {
      seen.push(...batch.toArray().map(({ id }) => id))
    }
    await ask('iterated', seen)
    await ask('short batches', rowsOf({ toArray: () => table.query().toArray({ maxBatchLength: 7 }) }, 'id'))
    await ask('in time', rowsOf({ toArray: () => table.query().toArray({ timeoutMs: 20_000 }) }, 'id'))
  },

  'rows taken': async ({ db, ask }) => {
    const table = await db.createTable('t', rows)
    await table.delete('id < 2 OR id = 5')
    await ask('offsets', rowsOf(table.takeOffsets([0, 3, 36]), 'id'))
    await ask('offsets in another order', rowsOf(table.takeOffsets([7, 1]), 'id'))
    await ask('offsets beyond', rowsOf(table.takeOffsets([36, 37]), 'id'))
    await ask('columns of them', table.takeOffsets([2]).select(['text', 'id']).toArrow())
    const found = await table.query().where('id IN (30, 3)').withRowId().toArray()
    const ids = found.map(row => row._rowid as bigint)
    await ask('row ids', rowsOf(table.takeRowIds(ids), 'id'))
    await ask('row ids with themselves', rowsOf(table.takeRowIds(ids).withRowId().select(['id']), 'id'))
    await ask('keys', Object.keys(found[0]!).sort())
    await ask('none', accepted(table.takeRowIds([]).toArray()))
    await ask('a row id there is not', accepted(table.takeRowIds([10n ** 15n]).toArray()))
  },

  vectors: async ({ db, ask, refused }) => {
    const table = await db.createTable('t', rows)
    for (const distanceType of ['l2', 'cosine', 'dot'] as const) {
      const query = () =>
        table
          .vectorSearch([...near])
          .distanceType(distanceType)
          .limit(6)
      await ask(distanceType, rowsOf(query(), 'id', '_distance'))
    }
    const query = () => table.vectorSearch([...near])
    await ask('ten by default', rowsOf(query(), 'id'))
    await ask('types', query().select(['id']).limit(1).outputSchema())
    await ask('all columns', Object.keys((await query().limit(1).toArray())[0]!))
    await ask('columns', named(query().select(['id']).limit(2)))
    await ask('columns and distance', named(query().select(['_distance', 'id']).limit(2)))
    await ask('computed', named(query().select({ a: 'id * 2', b: '_distance' }).limit(2)))
    await ask('with filter', rowsOf(query().where("`group` = 'g2'").limit(4), 'id', '_distance'))
    await ask('postfilter', rowsOf(query().where("`group` = 'g2'").postfilter().limit(4), 'id'))
    await ask('offset', rowsOf(query().offset(2).limit(3), 'id'))
    await ask('bounds', rowsOf(query().distanceRange(0.1, 0.8), 'id', '_distance'))
    await ask('lower bound', rowsOf(query().distanceRange(0.5).limit(3), 'id'))
    await ask('upper bound', rowsOf(query().distanceRange(undefined, 0.3), 'id'))
    await ask('nothing', named(query().where('false')))
    await ask('bypass', rowsOf(query().bypassVectorIndex().limit(3), 'id'))
    await ask('effort', rowsOf(query().nprobes(5).refineFactor(2).ef(50).limit(3), 'id'))
    await ask('probes', rowsOf(query().minimumNprobes(2).maximumNprobes(4).limit(3), 'id'))
    await ask('fast', rowsOf(query().fastSearch().limit(3), 'id'))
    await ask('column', rowsOf(query().column('vector').limit(3), 'id'))
    await ask('by search', rowsOf(table.search([...near]).limit(3), 'id'))
    await ask('by nearestTo', rowsOf(table.query().nearestTo(Float32Array.from(near)).limit(3), 'id'))
    await ask(
      'row ids',
      Object.keys((await query().withRowId().select(['id']).limit(1).toArray())[0]!).sort(),
    )
    await ask('ordered', rowsOf(query().orderBy({ columnName: 'id' }).limit(4), 'id'))
    await refused('a wrong length', () => table.vectorSearch([1, 2]).toArray(), /./)
    await refused('no vector column', () => query().column('text').toArray(), /./)
    await refused('no such column', () => query().column('nowhere').toArray(), /nowhere/)
  },

  'several vectors': async ({ db, ask }) => {
    const table = await db.createTable('t', rows)
    const both = () => table.vectorSearch([...near]).addQueryVector([...far])
    const found = await rowsOf(both().limit(3), 'query_index', 'id', '_distance')
    await ask('rows', found.sort())
    await ask('filtered', (await rowsOf(both().where('id < 9').limit(2), 'query_index', 'id')).sort())
    await ask(
      'columns',
      (await both().select(['id']).limit(1).outputSchema()).fields.map(({ name }) => name),
    )
  },

  'a table of no vectors, and of two': async ({ db, ask, refused }) => {
    const plain = await db.createTable('plain', [{ id: 1 }])
    await refused('none', () => plain.vectorSearch([1]).toArray(), /vector/i)
    const two = rows.slice(0, 5).map(({ id, vector }) => ({ id, vector, other_vector: vector.slice(1) }))
    const table = await db.createTable('two', two)
    await ask('one', rowsOf(table.vectorSearch([1, 2, 3]).column('other_vector').limit(2), 'id'))
    await refused('which', () => table.vectorSearch([1, 2, 3, 4, 5]).toArray(), /vector/i)
    await ask('by its length', rowsOf(table.vectorSearch([1, 2, 3]).limit(2), 'id'))
  },

  texts: async ({ db, ask, lancedb, refused }) => {
    const { Index, MatchQuery, PhraseQuery, MultiMatchQuery, BooleanQuery, Occur, Operator } = lancedb
    const table = await db.createTable('t', rows)
    const config = Index.fts({ withPosition: true })
    await table.createIndex('text', { config, waitTimeoutSeconds: 60 })
    const ids = async (query: Parameters<typeof rowsOf>[0]) => (await rowsOf(query, 'id')).flat().sort()
    await ask('by search', ids(table.search('sheaf', 'fts').limit(100)))
    await ask('by search, of a column', ids(table.search('sheaf', 'fts', 'text').limit(100)))
    await ask('by search, of columns', ids(table.search('sheaf', 'fts', ['text']).limit(100)))
    await ask('by nearestToText', ids(table.query().nearestToText('quiver', ['text']).limit(100)))
    const search = (query: string | InstanceType<typeof MatchQuery>) =>
      table
        .query()
        .fullTextSearch(query, { columns: ['text'] })
        .limit(100)
    await ask('words', ids(search('wheat quiver')))
    await ask('filtered', ids(search('wheat').where('id > 20')))
    await ask('types', search('wheat').select(['id']).limit(1).outputSchema())
    await ask('columns', named(search('wheat').select(['_score', 'id']).limit(0)))
    await ask('nothing', named(search('nowhere')))
    const structured = {
      match: new MatchQuery('sheaf arrows', 'text', { operator: Operator.And }),
      fuzzy: new MatchQuery('sheef', 'text', { fuzziness: 1 }),
      phrase: new PhraseQuery('sheaf of wheat', 'text'),
      several: new MultiMatchQuery('sheaf', ['text']),
      boolean: new BooleanQuery([
        [Occur.Must, new MatchQuery('wheat', 'text')],
        [Occur.MustNot, new MatchQuery('quiver', 'text')],
      ]),
    }
    for (const [name, query] of Object.entries(structured)) {
      await ask(name, ids(table.query().fullTextSearch(query).limit(100)))
      await ask(`${name}, by search`, ids(table.search(query).limit(100)))
    }
    await refused('no such column', () => table.search('x', 'fts', 'nowhere').toArray(), /nowhere/)
  },

  'vectors and texts': async ({ db, ask, lancedb }) => {
    const table = await db.createTable('t', rows)
    await table.createIndex('text', { config: lancedb.Index.fts() })
    const reranker = await lancedb.rerankers.RRFReranker.create()
    const query = () => table.vectorSearch([...near]).fullTextSearch('sheaf', { columns: ['text'] })
    const found = await rowsOf(query().rerank(reranker).limit(5), 'id', '_relevance_score')
    await ask('best', found[0])
    await ask('how many', found.length)
    await ask('without a word of a reranker', (await query().limit(5).toArray()).length)
    await ask('keys', Object.keys((await query().rerank(reranker).limit(1).toArray())[0]!).sort())
  },

  plans: async ({ db, ask }) => {
    const table = await db.createTable('t', rows)
    const told = async (plan: Promise<string>, words: RegExp) => words.test(await plan)
    const scan = () => table.query().where('id < 3')
    await ask('explain', told(scan().explainPlan(), /id < /))
    await ask('explain more', told(scan().explainPlan(true), /id < /))
    await ask('analyze', told(scan().analyzePlan(), /output_rows=3/))
    await ask('vectors', told(table.vectorSearch([...near]).explainPlan(), /KNNVectorDistance/))
    await ask('take', told(table.takeOffsets([1]).explainPlan(), /./))
  },
}

/** An answer as names of columns and rows. */
async function named(query: { toArrow(): Promise<arrow.Table> }): Promise<unknown> {
  const table = await query.toArrow()
  const names = table.schema.fields.map(({ name }) => name)
  return { names, rows: await rowsOf({ toArray: async () => table.toArray() }, ...names) }
}
