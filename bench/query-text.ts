/** Measures full-text queries, and the build, the size and the opening of a text index. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Batch } from '../src/arrow/column.js'
import { rowsToBatch } from '../src/arrow/rows.js'
import type { Schema } from '../src/arrow/types.js'
import { ArrowRows } from '../src/client/arrow-rows.js'
import { connect, type Namespace, type Table, type TextQuery } from '../src/index.js'
import { builtIndex } from './built-index.js'
import { type Bench, type CaseResult, timesOf } from './harness.js'
import { oneByOne, timedOneByOne } from './one-by-one.js'
import { seededRandom } from './random.js'
import { type TextData, textQueries, textsOf } from './text-data.js'

interface Parameters {
  /** Number of texts. With `wordNet`, the texts of WordNet are used instead if they are on this machine. */
  readonly documents: number
  readonly wordNet: boolean
  readonly queries: number
  /** Number of queries that are run without an index, so that each reads all rows. */
  readonly scans: number
  /** Number of unindexed rows in one of the cases. */
  readonly unindexed: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'query-text',
  question: 'how long does a full-text query take, and what does a text index cost?',
  small: { documents: 2000, wordNet: false, queries: 20, scans: 2, unindexed: 50, rounds: 1 },
  full: { documents: 118_000, wordNet: true, queries: 500, scans: 10, unindexed: 1000, rounds: 5 },
  async run({ documents, wordNet, queries, scans, unindexed, rounds }) {
    const data = textsOf({ wordNet, documents })
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    try {
      const built = await building(folder, data)
      const opened = await opening(folder, textQueries(data, 1).words3[0]!)
      const ns = await connect(folder, { buildThreads: 1, maintenance: { compact: false } })
      try {
        return [built, opened, ...(await asking(ns, data, queries, scans, unindexed, rounds))]
      } finally {
        await ns.close()
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

const batchRows = 10_000

/** Create a table of texts with the columns `id` (number of the row) and `share` (random in [0, 1)). */
export async function textTable(ns: Namespace, name: string, texts: readonly string[]): Promise<Table> {
  const { schema, batches } = rowsOf(texts, 0)
  await ns.operations.createTable({ id: [name] }, new ArrowRows(schema, batches))
  return ns.openTable(name)
}

function rowsOf(texts: readonly string[], first: number) {
  const schema: Schema = {
    fields: [
      { name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
      { name: 'share', type: { kind: 'float', bits: 64 }, nullable: false },
      { name: 'text', type: { kind: 'utf8', large: false }, nullable: true },
    ],
  }
  const random = seededRandom(7)
  const batches: Batch[] = []
  for (let from = 0; from < texts.length; from += batchRows) {
    const piece = texts.slice(from, from + batchRows)
    const rows = piece.map((text, i) => ({ id: first + from + i, share: random(), text }))
    batches.push(rowsToBatch(rows, schema))
  }
  return { schema, batches }
}

/**
 * Create tables for the other cases, and measure their index builds: `texts` with an index, `phrases` with an index
 * with positions, and `plain` without an index.
 */
async function building(folder: string, { name, documents }: TextData): Promise<CaseResult> {
  const ns = await connect(folder, { buildThreads: 1, maintenance: { compact: false } })
  try {
    const [texts, phrases] = [
      await textTable(ns, 'texts', documents),
      await textTable(ns, 'phrases', documents),
    ]
    await textTable(ns, 'plain', documents)
    // Build one index before the measurements, so that V8 has compiled the code.
    await builtIndex(texts, 'text', 'first', { type: 'FTS' })
    const entries = [
      await builtIndex(texts, 'text', 'without positions', { type: 'FTS' }),
      await builtIndex(phrases, 'text', 'with positions', { type: 'FTS', withPosition: true }),
    ]
    return { title: `building, ${name}, ${documents.length} documents`, entries }
  } finally {
    await ns.close()
  }
}

/**
 * Measure the time from a closed root to the first answer, and the time of a second query. Files may be in the page
 * cache.
 */
async function opening(folder: string, query: string): Promise<CaseResult> {
  const times: number[] = []
  const begun = performance.now()
  const ns = await connect(folder, { maintenance: { compact: false } })
  times.push(performance.now() - begun)
  const texts = await ns.openTable('texts')
  const answers: string[] = []
  for (let i = 0; i < 2; i++) {
    const asked = performance.now()
    const rows = await texts.query().fullText(query).select(['id']).limit(10).toArray()
    times.push(performance.now() - asked)
    answers.push(String(rows[0]?.id))
  }
  await ns.close()
  const entries = ['opening the root', 'first query', 'the same again'].map((name, i) => ({
    name,
    milliseconds: timesOf(Float64Array.of(times[i]!)),
    relativeTime: times[i]! / times[0]!,
    answer: answers[i - 1] ?? name,
  }))
  return { title: 'opening', entries }
}

type Asked = readonly (string | TextQuery)[]
type Searching = ReturnType<Table['search']>

async function asking(
  ns: Namespace,
  data: TextData,
  count: number,
  scans: number,
  unindexed: number,
  rounds: number,
): Promise<readonly CaseResult[]> {
  const covered = await ns.snapshot()
  const more = rowsOf(data.documents.slice(0, unindexed), data.documents.length)
  await ns.operations.insertIntoTable({ id: ['texts'] }, new ArrowRows(more.schema, more.batches))
  const partly = await ns.snapshot()
  const texts = await covered.openTable('texts')
  const phrases = await covered.openTable('phrases')
  const grown = await partly.openTable('texts')
  const plain = await covered.openTable('plain')
  const { words1, words3, phrases2, misspelt } = textQueries(data, count)
  const all = words3.map((match): TextQuery => ({ match, operator: 'and' }))
  const inARow = phrases2.map((phrase): TextQuery => ({ phrase }))
  const near = misspelt.map((match): TextQuery => ({ match, fuzziness: 1 }))
  const begun = words1.map((word): TextQuery => ({ match: word.slice(0, 3), prefix: true }))
  const on = (table: Pick<Table, 'query'>) => () => table.query()
  const passing = (share: number) => () => texts.query().where('share < ?', [share])
  const cases: CaseResult[] = []
  const ask = async (title: string, ways: readonly TextWay[], times = rounds) => {
    cases.push(await answered(`${title}, ${ways[0]!.queries.length} queries, k 10`, ways, times))
  }
  await ask('one of three words', [
    { name: 'indexed', queries: words3, search: on(texts) },
    { name: 'with positions', queries: words3, search: on(phrases) },
    { name: `${unindexed} rows beside`, queries: words3, search: on(grown) },
    { name: 'where 1 % pass', queries: words3, search: passing(0.01) },
    { name: 'where 10 % pass', queries: words3, search: passing(0.1) },
    { name: 'where 50 % pass', queries: words3, search: passing(0.5) },
  ])
  await ask('all of three words', [{ name: 'indexed', queries: all, search: on(texts) }])
  await ask('a phrase of two words', [{ name: 'indexed', queries: inARow, search: on(phrases) }])
  await ask('one word', [{ name: 'indexed', queries: words1, search: on(texts) }])
  await ask('a prefix of 3 letters', [{ name: 'indexed', queries: begun, search: on(texts) }])
  await ask('one word, misspelt', [{ name: 'indexed', queries: near, search: on(texts) }])
  const few = words3.slice(0, scans)
  const scan = { name: 'without an index', queries: few, search: on(plain) }
  await ask('one of three words', [{ name: 'indexed', queries: few, search: on(texts) }, scan], 1)
  await covered.close()
  await partly.close()
  return cases
}

interface TextWay {
  readonly name: string
  readonly queries: Asked
  readonly search: () => Searching
}

function answered(title: string, ways: readonly TextWay[], rounds: number): Promise<CaseResult> {
  return timedOneByOne(
    title,
    ways.map(({ name, queries, search }) => ({
      name,
      queries,
      ask: (queries: Asked) =>
        oneByOne(queries, async query => {
          const rows = await search().fullText(query).select(['id']).limit(10).toArray()
          return rows.map(({ id }) => id as number)
        }),
    })),
    rounds,
  )
}
