/** Texts are searched alike through every door: A-065 to A-070, A-076, A-085, A-086. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import { seededRandom } from '../../bench/random.js'
import { readReply } from '../../src/client/read-replies.js'
import { rowObjects } from '../../src/client/row-objects.js'
import {
  connect,
  type Namespace,
  type Request,
  type Search,
  type Table,
  type TextQuery,
} from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { shipped } from '../adapters/built.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()
const random = seededRandom(9)
const words = 'ape bee cat dog elk fox gnu hen ibex jay kite lion mole newt owl puma'.split(' ')
const word = () => words[Math.floor(words.length * random() ** 2)]!
const textOf = (count: number) => Array.from({ length: count }, word).join(' ')
const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    id: first + i,
    title: i % 9 === 8 ? null : textOf(2),
    body: `${textOf(3 + (i % 8))} w${first + i}`,
    tags: [word(), textOf(2)],
    plain: textOf(2),
    v: [i % 7, i % 5],
  }))

const doors = ['direct', 'over HTTP', 'in a worker', 'another opener'] as const
const opened = new Map<string, Namespace>()
const closing: (() => Promise<void>)[] = []
let url: string
const at = (door: string): Table => opened.get(door)!.table('t')

/** An index with positions of the one column, without of the other; rows that none covers; rows that died. */
beforeAll(async () => {
  const root = freshRoot()
  const direct = await connect(root, { maintenance: { compact: false } })
  const table = await direct.createTable('t', rowsFrom(0, 1500), { vectorColumns: ['v'] })
  const waitTimeoutMs = 60_000
  await table.createIndex('body', { type: 'FTS', withPosition: true, waitTimeoutMs })
  await table.createIndex('title', { type: 'FTS', waitTimeoutMs })
  await table.createIndex('tags', { type: 'FTS', withPosition: true, waitTimeoutMs })
  await table.add(rowsFrom(1500, 80))
  await table.delete('id % 13 = 0')
  const server = await serve(direct, { port: 0 })
  url = server.url
  const { connectWorker } = await import(shipped('worker'))
  const all = [direct, connectHttp(url), await connectWorker(root), await connect(root, { readOnly: true })]
  for (const [i, door] of doors.entries()) opened.set(door, all[i]!)
  closing.push(
    ...all.slice(1).map(ns => () => ns.close()),
    () => server.close(),
    () => direct.close(),
  )
})
afterAll(async () => {
  for (const close of closing) await close()
})

const text = (query: string | TextQuery, columns?: readonly string[]) => (table: Table) =>
  table.query().fullText(query, columns === undefined ? {} : { columns })

const queries: Readonly<Record<string, (table: Table) => Search<object>>> = {
  'all columns with an index': text('ape bee'),
  'one column': table => text('ape w77 w1533', ['body'])(table).withRowId(),
  'a column without an index': text('ape', ['plain']),
  lists: text({ phrase: 'ape bee', column: 'tags', slop: 1 }),
  'all words, filter': table =>
    text({ match: 'ape bee cat', operator: 'and', column: 'body' })(table).where('id % 2 = 1').limit(500),
  'filter afterwards': table => text('ape', ['body'])(table).where('id % 2 = 1').postfilter().limit(30),
  fuzzy: text({
    match: 'apee dgo',
    column: 'body',
    fuzziness: 2,
    prefixLength: 1,
    maxExpansions: 5,
    boost: 2,
  }),
  'a prefix': text({ match: 'ape w15', operator: 'and', prefix: true }),
  'a prefix in columns': text({
    multiMatch: 'bee A',
    columns: ['title', 'body'],
    boosts: [3, 1],
    prefix: true,
  }),
  'by length': text({ match: 'appe', column: 'body', fuzziness: 'auto' }),
  phrase: table => text({ phrase: 'ape bee', column: 'body' })(table).limit(400).offset(7),
  columns: text({ multiMatch: 'ape', columns: ['title', 'body'], boosts: [3, 1] }),
  'operators in operators': text({
    must: [{ match: 'ape', column: 'body' }],
    should: [{ positive: { match: 'bee', column: 'body' }, negative: { match: 'cat' }, negativeBoost: 0.3 }],
    mustNot: [{ phrase: 'dog ape', column: 'body' }],
  }),
  'only what is covered': table => text('w1533 ape', ['body'])(table).fastSearch(),
  ordered: table =>
    text('ape', ['body'])(table).select({ n: 'id', s: '_score' }).orderBy({ column: 'n', ascending: false }),
  'groups of what was found': table =>
    text('ape bee', ['body'])(table)
      .select({ k: 'id % 3', n: 'count(*)', best: 'max(_score)' })
      .groupBy('id % 3'),
  highlights: table =>
    text('ape bee', ['body', 'title'])(table).highlight({ escape: 'html', snippetLength: 20 }),
  hybrid: table =>
    table
      .search([1, 2])
      .fullText('ape', { columns: ['body'] })
      .limit(40),
  'a page of a hybrid search': table =>
    table
      .search([1, 2])
      .fullText('ape', { columns: ['body'] })
      .fuse({ candidates: 60 })
      .offset(20)
      .limit(7),
  'groups of a range of distances': table =>
    table.search([1, 2]).distanceRange(0, 1e6).select({ k: 'id % 3', n: 'count(*)' }).groupBy('id % 3'),
  'hybrid by weight': table =>
    table
      .search([1, 2])
      .fullText('ape', { columns: ['body'] })
      .fuse({ vectorWeight: 0.3 })
      .where('id < 900'),
}

describe.each(Object.keys(queries))('%s', name => {
  test('A-076 gives the same bytes over every transport', async () => {
    const [first, ...others] = await Promise.all(
      doors.map(async door => Buffer.from(await queries[name]!(at(door)).toIpc()).toString('base64')),
    )
    for (const other of others) expect(other).toBe(first)
    const rows = await queries[name]!(at('direct')).toArray()
    expect(rows.length).toBeGreaterThan(0)
    expect(await queries[name]!(at('in a worker')).toArray()).toEqual(rows)
  })
})

test('rows joined by a function are the same over every transport', async () => {
  const joined = (table: Table) =>
    table
      .search([1, 2])
      .fullText('ape', { columns: ['body'] })
      .fuse((near, matching) =>
        [...near, ...matching]
          .map(({ _rowid }, i) => ({ _rowid, _relevance_score: 1 / (i + 1) }))
          .slice(0, 3),
      )
      .toArray()
  const first = await joined(at('direct'))
  expect(first).toHaveLength(3)
  for (const door of doors.slice(1)) expect(await joined(at(door))).toEqual(first)
})

describe('no match is not an error', () => {
  test.each(['', '  ', 'the of and', '!?', '\ud800', 'nowhere'])('%j', async query => {
    for (const door of doors) expect(await text(query)(at(door)).toArray()).toEqual([])
    expect(await text({ phrase: query, column: 'body' })(at('direct')).toArray()).toEqual([])
    expect(
      await text({ match: query, operator: 'and', fuzziness: 1, column: 'body' })(at('direct')).toArray(),
    ).toEqual([])
  })
})

test('text that looks like a pattern or SQL is plain text', async () => {
  const plain = await text('ape w77', ['body'])(at('direct')).toArray()
  for (const query of [
    '.*ape(w77)+$',
    "ape' OR w77 --",
    '[ape] ^w77|\\',
    'ape\ud800w77',
    '\udc00ape\0w77\u202e',
  ]) {
    for (const door of doors) expect(await text(query, ['body'])(at(door)).toArray()).toEqual(plain)
  }
})

async function ids(door: string, query: object): Promise<readonly unknown[]> {
  const request = {
    id: ['t'],
    k: 50,
    columns: ['id', '_score'],
    ...query,
  } as unknown as Request<'queryTable'>
  const reply = await opened.get(door)!.operations.queryTable(request)
  return rowObjects(readReply(reply).batches, {})
}

describe('the query forms of clients', () => {
  const match = { terms: 'ape dgo', column: 'body' }
  const multi = {
    match_queries: [
      { terms: 'ape', column: 'title', boost: 2 },
      { terms: 'ape', column: 'body' },
    ],
  }
  test.each<[string, object, readonly object[]]>([
    [
      'a text',
      { string_query: { query: 'ape', columns: ['body'] } },
      [{ query: 'ape', columns: ['body'] }, { query: { match: { terms: 'ape', column: 'body' } } }],
    ],
    [
      'all columns',
      { string_query: { query: 'ape' } },
      [
        { query: 'ape', columns: [] },
        { query: 'ape', columns: null },
        { query: { match: { terms: 'ape', column: null } } },
      ],
    ],
    [
      'operators',
      { structured_query: { query: { match: { ...match, operator: 'And' } } } },
      [{ query: { match: { ...match, operator: 'and', boost: 1, max_expansions: 50, prefix_length: 0 } } }],
    ],
    [
      'no edits',
      { structured_query: { query: { match } } },
      [{ query: { match: { ...match, fuzziness: 0 } } }],
    ],
    [
      'edits by length',
      { structured_query: { query: { match: { ...match, fuzziness: null } } } },
      [{ query: { match: { ...match, fuzziness: 1 } } }],
    ],
    [
      'several columns',
      { structured_query: { query: { multi_match: multi } } },
      [{ query: { multi_match: { query: 'ape', columns: ['title', 'body'], boost: [2, 1] } } }],
    ],
  ])('%s', async (_, full_text_query, others) => {
    const first = await ids('direct', { full_text_query })
    expect(first.length).toBe(_ === 'operators' ? 0 : 50)
    for (const other of [full_text_query, ...others]) {
      for (const door of doors) expect(await ids(door, { full_text_query: other })).toEqual(first)
    }
  })

  test('absent fuzziness is none, null is by length', async () => {
    const of = async (more: object) =>
      (
        await ids('direct', {
          full_text_query: { query: { match: { terms: 'appe', column: 'body', ...more } } },
        })
      ).length
    expect(await of({})).toBe(0)
    expect(await of({ fuzziness: null })).toBe(50)
  })
})

describe('an invalid query is refused alike', () => {
  const structured = (query: object) => ({ full_text_query: { structured_query: { query } } })
  const nested = (depth: number) => {
    let query: object = { match: { terms: 'ape' } }
    for (let i = 0; i < depth; i++) query = { boolean: { must: [query] } }
    return structured(query)
  }
  const cases: Readonly<Record<string, readonly [object, number]>> = {
    'a phrase without positions': [structured({ phrase: { terms: 'ape bee', column: 'title' } }), 13],
    'a boolean that says nothing to find': [
      structured({ boolean: { must_not: [{ match: { terms: 'ape' } }] } }),
      13,
    ],
    'an empty boolean': [structured({ boolean: {} }), 13],
    'three edits': [structured({ match: { terms: 'ape', fuzziness: 3 } }), 13],
    'a prefix that is no boolean': [structured({ match: { terms: 'ape', prefix: 'yes' } }), 13],
    '65 prefixes': [
      structured({
        boolean: { should: Array(65).fill({ match: { terms: 'a', column: 'body', prefix: true } }) },
      }),
      13,
    ],
    'a negative factor': [structured({ match: { terms: 'ape', boost: -1 } }), 13],
    'two operators': [structured({ match: { terms: 'ape' }, phrase: { terms: 'ape' } }), 13],
    'two kinds of query': [
      {
        full_text_query: {
          string_query: { query: 'a' },
          structured_query: { query: { match: { terms: 'a' } } },
        },
      },
      13,
    ],
    'operators 70 deep': [nested(70), 13],
    'operators 1,000 deep': [nested(1000), 13],
    'an unknown column': [{ full_text_query: { query: 'ape', columns: ['no'] } }, 12],
    'a column of numbers': [{ full_text_query: { query: 'ape', columns: ['id'] } }, 13],
    'fusion of one list': [{ full_text_query: { query: 'ape' }, fusion: { rrf: {} } }, 13],
    'highlights of nothing': [{ filter: 'id = 1', columns: ['id'], highlight: {} }, 13],
  }
  test.each(Object.keys(cases))('%s', async name => {
    const [query, code] = cases[name]!
    const [first, ...others] = await Promise.all(
      doors.map(async door => {
        const { code, status, message, hint } = await failure(ids(door, query))
        return { code, status, message, hint }
      }),
    )
    expect(first).toMatchObject({ code, status: code === 12 ? 404 : 400 })
    for (const other of others) expect(other).toEqual(first)
    const body = JSON.stringify({ k: 5, ...query })
    const headers = { 'content-type': 'application/json' }
    for (const path of ['query', 'query/']) {
      const reply = await fetch(`${url}/v1/table/t/${path}`, { method: 'POST', headers, body })
      expect([400, path === 'query' && code === 12 ? 404 : 400]).toContain(reply.status)
      expect(await reply.json()).toMatchObject({ code })
    }
  })

  test.each([
    { language: 'Klingon' },
    { base_tokenizer: 'lindera' },
    { base_tokenizer: 'ngram', min_ngram_length: 5 },
  ])('an index with %j', async options => {
    const request = {
      id: ['t'],
      column: 'body',
      index_type: 'FTS',
      name: 'other',
      ...options,
    } as unknown as Request<'createTableIndex'>
    for (const door of doors.slice(0, 3)) {
      const refused = await failure(opened.get(door)!.operations.createTableIndex(request))
      expect(refused).toMatchObject({ code: 13, status: 400 })
    }
  })
})

test.each(['or', 'and'] as const)(
  'other work runs during a search for ten thousand words: %s',
  async operator => {
    const many = Array.from({ length: 10_000 }, (_, i) => `w${i % 4 === 0 ? i / 4 : `x${i}`}`).join(' ')
    // Each look at the clock finds that 10 ms are over. The number of pauses thus does not depend on the machine.
    let elapsed = 0
    const clock = vi.spyOn(systemClock, 'elapsed').mockImplementation(() => (elapsed += 10))
    let turns = 0
    let isOver = false
    const turn = () => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    try {
      const search = text({ match: many, column: 'body', operator })(at('direct'))
      expect(await search.limit(5).toArray()).toHaveLength(operator === 'or' ? 5 : 0)
    } finally {
      isOver = true
      clock.mockRestore()
    }
    expect(turns).toBeGreaterThanOrEqual(10_000)
  },
)
