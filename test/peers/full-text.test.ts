/** Full-text search as LanceDB's remote client asks for it. Which rows have what score its own engine says. */
import type { FullTextQuery, Query, Table } from '@lancedb/lancedb'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { temporaryRoots } from '../support/roots.js'
import {
  connectEngine,
  connectRemote,
  type Lancedb,
  releases,
  type Served,
  servers,
  sorted,
} from './peers.js'
import { differences, differingRows } from './text-differences.js'

const serveRoot = servers()
const freshFolder = temporaryRoots()

const words = 'sheaf wheat arrow quiver table figure river stone cloud forest mountain garden'.split(' ')
const random = seededRandom(5)
const word = () => words[Math.floor(words.length * random() ** 2)]!
const text = () => Array.from({ length: 3 + Math.floor(9 * random()) }, word).join(' ')
const rows = Array.from({ length: 400 }, (_, id) => ({
  id,
  title: `${word()} ${word()}`,
  body: id % 7 === 0 ? `${text()}, Running horses of the café don't foo_bar Übergrößen` : text(),
  vector: Array.from({ length: 4 }, () => Math.fround(random() - 0.5)),
}))

interface Hit {
  readonly id: number
  readonly _score: number
}
const hits = async (query: Query) => (await query.select(['id', '_score']).toArray()) as Hit[]

/** Rows are equally good in two engines if what they add up is the same to so many digits. */
const digits = 3

describe.each(releases)('remote client $release', ({ release, lancedb }) => {
  const { BooleanQuery, Index, MatchQuery, Occur, PhraseQuery } = lancedb
  let served: Served
  let table: Table
  /** The same rows in LanceDB's engine, with indexes of both columns. */
  let local: Table

  beforeAll(async () => {
    local = await (await lancedb.connect(freshFolder())).createTable('t', rows)
    for (const name of ['body', 'title']) await local.createIndex(name, { config: positions() })
  })
  beforeEach(async () => {
    served = await serveRoot()
    table = await (await connectRemote(lancedb, served.url)).createTable('t', rows)
  })

  const positions = () => Index.fts({ withPosition: true })
  const indexed = async (column: string, config = positions()) => {
    await table.createIndex(column, { config })
    await served.ns.table('t').waitForIndex(`${column}_idx`)
  }
  const both = async () => {
    for (const name of ['body', 'title']) await indexed(name)
  }

  /** Both engines find the same rows with the same scores, and give the same number of the best; returns how many there are. */
  async function expectSame(ask: (table: Table) => Query): Promise<number> {
    const all = await hits(ask(table).limit(rows.length + 10))
    const theirs = new Map((await hits(ask(local).limit(rows.length + 10))).map(hit => [hit.id, hit._score]))
    expect(sorted(all.map(({ id }) => id))).toEqual(sorted([...theirs.keys()]))
    for (const { id, _score } of all) expect(_score).toBeCloseTo(theirs.get(id)!, digits)
    const scores = all.map(({ _score }) => _score)
    expect(scores).toEqual(sorted(scores).reverse())
    const best = await hits(ask(table).limit(7))
    expect(best).toEqual(all.slice(0, 7))
    return all.length
  }

  test('an index is made, waited for, listed and dropped', async () => {
    await table.createIndex('body', { config: Index.fts(), waitTimeoutSeconds: 60 })
    await table.waitForIndex(['body_idx'], 60)
    const [info] = await table.listIndices()
    expect(info).toMatchObject({ name: 'body_idx', indexType: 'FTS', columns: ['body'] })
    expect(await table.indexStats('body_idx')).toMatchObject({
      indexType: 'FTS',
      numIndexedRows: 400,
      numUnindexedRows: 0,
      numIndices: 1,
    })
    await table.dropIndex('body_idx')
    expect(await table.listIndices()).toEqual([])
  })

  test.each<[string, Parameters<typeof Index.fts>[0]]>([
    ['nothing', undefined],
    ['positions', { withPosition: true }],
    ['another language', { language: 'German' }],
    ['white space', { baseTokenizer: 'whitespace' }],
    ['no cuts', { baseTokenizer: 'raw', maxTokenLength: 500, stem: false }],
    ['words by dictionaries', { baseTokenizer: 'icu' }],
    ['n-grams', { baseTokenizer: 'ngram', ngramMinLength: 2, ngramMaxLength: 4 }],
    ['beginnings', { baseTokenizer: 'ngram', ngramMinLength: 1, prefixOnly: true }],
    ['case', { lowercase: false }],
    ['no stems', { stem: false }],
    ['all words', { removeStopWords: false }],
    ['words of its own to drop', { customStopWords: ['hors', 'stone'] }],
    ['none to drop', { customStopWords: [] }],
    ['short words', { maxTokenLength: 6 }],
    ['accents', { asciiFolding: false }],
    ['larger blocks', { blockSize: 256 }],
  ])('options: %s', async (_, options) => {
    const own = await (await lancedb.connect(freshFolder())).createTable('t', rows)
    await own.createIndex('body', { config: Index.fts(options) })
    await indexed('body', Index.fts(options))
    const { indexDetails: ours } = (await table.listIndices())[0]!
    expect((await own.listIndices())[0]!.indexDetails).toMatchObject(ours as object)
    // The client makes tokens by itself, of what it is told of the index.
    const sample = rows[7]!.body
    const tokens = await own.tokenize(sample, { column: 'body' })
    expect(await table.tokenize(sample, { column: 'body' })).toEqual(tokens)
    const ofWords = 'river Stone the hors Caf cafe café rest Übergrößen'
    const asked = options?.baseTokenizer === 'ngram' ? 'river' : ofWords
    const of = async (each: Table) =>
      new Map(
        (await hits(each.query().fullTextSearch(asked, { columns: 'body' }).limit(500))).map(hit => [
          hit.id,
          hit._score,
        ]),
      )
    const [found, theirs] = [await of(table), await of(own)]
    expect(sorted([...found.keys()])).toEqual(sorted([...theirs.keys()]))
    const same = options?.blockSize === 256 ? 0 : digits
    for (const [id, score] of found) expect(score).toBeCloseTo(theirs.get(id)!, same)
  })

  test('what there is no tokenizer for is refused', async () => {
    const config = Index.fts({ baseTokenizer: 'lindera/ipadic' })
    await expect(table.createIndex('body', { config })).rejects.toThrow(/icu/)
    await expect(table.createIndex('id', { config: Index.fts() })).rejects.toThrow(/int64|float64/)
  })

  test.each<[string, number, string | string[] | undefined]>([
    ['river stone', 259, undefined],
    ['river stone', 217, 'body'],
    ['river stone', 259, ['body', 'title']],
    ['river RIVER stone!', 217, 'body'],
    ['run horse', 58, 'body'],
    ['cafe', 58, 'body'],
    ['of the', 0, 'body'],
    ['', 0, 'body'],
    ['nowhere', 0, undefined],
  ])('text %j finds %i rows in %j', async (query, count, columns) => {
    await both()
    const options = columns === undefined ? undefined : { columns }
    expect(await expectSame(each => each.query().fullTextSearch(query, options))).toBe(count)
  })

  const queries = structured(lancedb)
  test.each(Object.keys(queries))('query: %s', async name => {
    await both()
    const count = await expectSame(each => each.query().fullTextSearch(queries[name]!))
    expect(count > 0).toBe(name !== 'fuzzy, behind a prefix that differs')
  })

  test('where two queries must match, scores are those of both', async () => {
    await both()
    const [river, stone] = [new MatchQuery('river', 'body'), new MatchQuery('stone', 'title')]
    const all = new BooleanQuery([
      [Occur.Must, river],
      [Occur.Must, stone],
    ])
    const find = async (query: FullTextQuery, of: Table) => hits(of.query().fullTextSearch(query).limit(400))
    const [a, b] = await Promise.all([find(river, table), find(stone, table)])
    const found = await find(all, table)
    expect(found.length).toBeGreaterThan(5)
    const scoreIn = (hits: readonly Hit[], id: number) => hits.find(hit => hit.id === id)!._score
    for (const { id, _score } of found) expect(_score).toBeCloseTo(scoreIn(a, id) + scoreIn(b, id), 5)
    const theirs = await find(all, local)
    expect(sorted(theirs.map(({ id }) => id))).toEqual(sorted(found.map(({ id }) => id)))
    if (release === '0.39') await expectSame(each => each.query().fullTextSearch(all))
  })

  test.each(Object.entries(differences))('differs on purpose: %s', async (_, { query, ours, theirs }) => {
    const remote = await connectRemote(lancedb, served.url)
    const other = await remote.createTable('other', differingRows)
    const own = await (await lancedb.connect(freshFolder())).createTable('other', differingRows)
    for (const each of [other, own]) {
      for (const name of ['body', 'tags']) await each.createIndex(name, { config: positions() })
    }
    await served.ns.table('other').waitForIndex(['body_idx', 'tags_idx'])
    for (const [each, expected] of [
      [other, ours],
      [own, theirs],
    ] as const) {
      const found = hits(each.query().fullTextSearch(query(lancedb)))
      if (expected instanceof RegExp) await expect(found).rejects.toThrow(expected)
      else expect(sorted((await found).map(({ id }) => id))).toEqual(expected)
    }
  })

  test('the operator of a MultiMatchQuery stays with the client', async () => {
    const query = new lancedb.MultiMatchQuery('river stone', ['body'], { operator: lancedb.Operator.And })
    await hits(table.query().fullTextSearch(query))
    expect(served.calls('queryTable').at(-1)).toMatchObject({
      full_text_query: { query: { multi_match: { query: 'river stone', columns: ['body'], boost: [1] } } },
    })
    expect(JSON.stringify(served.calls('queryTable').at(-1))).not.toMatch(/operator/i)
  })

  test('columns, row ids, limits, offsets, filters, orders', async () => {
    await both()
    const river = (of: Table) => of.query().fullTextSearch('river', { columns: 'body' })
    await expectSame(each => river(each).where('id < 50'))
    const few = await river(table).where('id < 50').limit(3).toArray()
    expect(Object.keys(few[0]).sort()).toEqual(['_score', 'body', 'id', 'title', 'vector'])
    const page = await river(table).select(['id']).where('id < 50').withRowId().offset(2).limit(3).toArray()
    expect(Object.keys(page[0]).sort()).toEqual(['_rowid', '_score', 'id'])
    const first = (await hits(river(table).where('id < 50').limit(5))).map(({ id }) => id)
    expect(page.map(({ id }) => id)).toEqual(first.slice(2))
    const ordered = (of: Table) =>
      river(of).where('id < 50').limit(100).orderBy({ columnName: 'id', ascending: false })
    const ids = async (query: Query) => (await hits(query)).map(({ id }) => id)
    expect(await ids(ordered(table))).toEqual(await ids(ordered(local)))
  })

  test('rows that came later are found, unless the search is to be fast', async () => {
    await indexed('body')
    await table.add([{ id: 1000, title: 'x', body: 'an unheard word', vector: [1, 2, 3, 4] }])
    const unheard = () => table.query().fullTextSearch('unheard', { columns: 'body' })
    expect((await hits(unheard())).map(({ id }) => id)).toEqual([1000])
    expect(await hits(unheard().fastSearch())).toEqual([])
    expect(await table.indexStats('body_idx')).toMatchObject({ numIndexedRows: 400, numUnindexedRows: 1 })
  })

  test('deleted rows count in no score once the index is rebuilt, as in LanceDB', async () => {
    await indexed('body')
    const own = await (await lancedb.connect(freshFolder())).createTable('t', rows)
    await own.createIndex('body', { config: positions() })
    for (const each of [table, own]) await each.delete('id >= 300')
    await indexed('body')
    await own.createIndex('body', { config: positions(), replace: true })
    const scores = async (of: Table) =>
      new Map(
        (await hits(of.query().fullTextSearch('garden', { columns: 'body' }).limit(400))).map(hit => [
          hit.id,
          hit._score,
        ]),
      )
    const [ours, theirs] = [await scores(table), await scores(own)]
    expect(sorted([...ours.keys()])).toEqual(sorted([...theirs.keys()]))
    for (const [id, score] of ours) expect(score).toBeCloseTo(theirs.get(id)!, digits)
  })

  test('without an index rows are found all the same, with the scores that one gives', async () => {
    const river = () => table.query().fullTextSearch('river stone', { columns: 'body' }).limit(400)
    const plain = await hits(river())
    await indexed('body')
    expect(await hits(river())).toEqual(plain)
  })

  test('hybrid: the client asks twice, and joins what it gets', async () => {
    await both()
    const reranker = await lancedb.rerankers.RRFReranker.create()
    const vector = [0.1, 0.2, 0.3, 0.4]
    const hybrid = (of: Table) =>
      of
        .query()
        .nearestTo(vector)
        .fullTextSearch('river', { columns: ['body'] })
        .rerank(reranker)
        .limit(8)
        .select(['id'])
    const relevant = async (of: Table) =>
      ((await hybrid(of).toArray()) as { id: number; _relevance_score: number }[]).map(
        row => row._relevance_score,
      )
    served.asked()
    const ours = await relevant(table)
    expect(served.asked().filter(name => name === 'queryTable')).toHaveLength(2)
    const theirs = await relevant(local)
    expect(ours).toHaveLength(8)
    for (const [i, relevance] of ours.entries()) expect(relevance).toBeCloseTo(theirs[i]!, 6)
    // One request of ours gives the same list, where it looks at as many rows of each as the client does.
    const search = served.ns
      .table('t')
      .search(vector)
      .fullText('river', { columns: ['body'] })
      .fuse({ candidates: 8 })
    const own = (await search.limit(8).select(['id']).toArray()) as unknown as { _relevance_score: number }[]
    expect(own.map(row => row._relevance_score)).toEqual(ours)
    const after = hybrid(table).where('id >= 200').postfilter()
    expect((await after.toArray()).every(({ id }) => id >= 200)).toBe(true)
  })

  test('plans are told', async () => {
    await both()
    const asked = () => table.query().fullTextSearch(new MatchQuery('river', 'body')).limit(5)
    expect(await asked().explainPlan()).toContain('MatchQuery: query=river, column=body')
    expect(await asked().explainPlan()).toContain('body_idx')
    expect(await asked().analyzePlan()).toMatch(/MatchQuery.*output_rows=5/)
  })

  test('what cannot be asked is told', async () => {
    await indexed('body', Index.fts())
    const refused: (readonly [Query, RegExp])[] = [
      [table.query().fullTextSearch(new PhraseQuery('river stone', 'body')), /positions/],
      [table.query().fullTextSearch('river', { columns: 'nowhere' }), /nowhere/],
      [table.query().fullTextSearch(new MatchQuery('river', 'body', { boost: -1 })), /boost/],
      [
        table.query().fullTextSearch(new BooleanQuery([[Occur.MustNot, new MatchQuery('river', 'body')]])),
        /must or should/,
      ],
    ]
    for (const [query, message] of refused) await expect(query.toArray()).rejects.toThrow(message)
  })

  test('the embedded engine keeps its indexes of text in tables whose versions are here', async () => {
    const db = await connectEngine(lancedb, served.url)
    const own = await db.createTable('own', rows.slice(0, 50))
    await own.createIndex('body', { config: positions() })
    const other = await (await connectEngine(lancedb, served.url)).openTable('own')
    expect((await other.listIndices()).map(({ name }) => name)).toEqual(['body_idx'])
    const found = await hits(other.query().fullTextSearch(new PhraseQuery('running horses', 'body')))
    expect(sorted(found.map(({ id }) => id))).toEqual([0, 7, 14, 21, 28, 35, 42, 49])
  })
})

/** By what they are to show. */
function structured(lancedb: Lancedb): Readonly<Record<string, FullTextQuery>> {
  const { BooleanQuery, BoostQuery, MatchQuery, MultiMatchQuery, Occur, Operator, PhraseQuery } = lancedb
  const match = (word: string, column = 'body') => new MatchQuery(word, column)
  return {
    match: match('river stone'),
    'all words': new MatchQuery('river stone garden', 'body', { operator: Operator.And }),
    'one edit': new MatchQuery('rivar', 'body', { fuzziness: 1 }),
    'two edits': new MatchQuery('gerdem', 'body', { fuzziness: 2 }),
    'fuzzy, behind a prefix': new MatchQuery('rover', 'body', { fuzziness: 1, prefixLength: 1 }),
    'fuzzy, behind a prefix that differs': new MatchQuery('rover', 'body', { fuzziness: 1, prefixLength: 2 }),
    'the nearest word alone': new MatchQuery('rivar', 'body', { fuzziness: 2, maxExpansions: 1 }),
    'a factor': new MatchQuery('river stone', 'body', { boost: 2.5 }),
    phrase: new PhraseQuery('river stone', 'body'),
    'a longer phrase': new PhraseQuery('wheat sheaf arrow', 'body'),
    'a phrase with a word twice': new PhraseQuery('sheaf sheaf', 'body'),
    'a phrase around stop words': new PhraseQuery('horses of the cafe', 'body'),
    'a phrase with a gap': new PhraseQuery('river stone', 'body', { slop: 1 }),
    boost: new BoostQuery(match('river'), match('stone')),
    'a weaker boost': new BoostQuery(match('river'), match('stone'), { negativeBoost: 0.2 }),
    'several columns': new MultiMatchQuery('river stone', ['body', 'title']),
    'several columns with factors': new MultiMatchQuery('river stone', ['body', 'title'], { boosts: [1, 3] }),
    'must, should, must not': new BooleanQuery([
      [Occur.Must, match('river')],
      [Occur.Should, match('stone')],
      [Occur.MustNot, match('garden')],
    ]),
    'one of two columns': new BooleanQuery([
      [Occur.Should, match('river')],
      [Occur.Should, match('stone', 'title')],
    ]),
    'operators within operators': new BooleanQuery([
      [Occur.Must, new MultiMatchQuery('river', ['body', 'title'])],
      [Occur.Should, new BoostQuery(match('stone'), match('cloud'))],
    ]),
  }
}
