/**
 * How good the ten best rows are, on two collections that people have judged: nDCG@10 as trec_eval's ndcg_cut has it. A document's gain is
 * its grade, discounted by log2 of its rank; a query's best possible sum is that of all its judgments; the mean is over judged queries.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { dataPath } from '../../../scripts/data.js'
import { connect } from '../../../src/index.js'

/** Documents by their names, queries by theirs, and of these how relevant which documents are: above 0, others are not. */
interface Judged {
  readonly documents: ReadonlyMap<string, string>
  readonly queries: ReadonlyMap<string, string>
  readonly grades: ReadonlyMap<string, ReadonlyMap<string, number>>
}

const depth = 10

/** `least`: what an index with default options has to reach. LanceDB 0.39 reaches 0.6840 and 0.3746, Anserini 0.6789 of SciFact. */
const collections = [
  { name: 'SciFact', least: 0.68, read: sciFact },
  { name: 'Cranfield', least: 0.37, read: cranfield },
] as const

for (const { name, least, read } of collections) {
  const judged = read()
  test.skipIf(judged === null)(
    judged === null ? `${name}: not where SHEAF_DATA says` : `${name}: nDCG@10 of at least ${least}`,
    async () => {
      const reached = await meanGain(judged!)
      console.log(`${name}: nDCG@10 ${reached.toFixed(4)}`)
      expect(reached).toBeGreaterThanOrEqual(least)
    },
    60_000,
  )
}

async function meanGain({ documents, queries, grades }: Judged): Promise<number> {
  const ns = await connect('memory://', { upkeep: { compact: false } })
  try {
    const rows = Array.from(documents, ([name, text]) => ({ name, text }))
    const table = await ns.createTable('documents', rows)
    const { name: index } = await table.createIndex('text', { type: 'FTS' })
    await table.waitForIndex(index)
    let sum = 0
    for (const [query, of] of grades) {
      const found = await table.search().fullText(queries.get(query)!).select(['name']).limit(depth).toArray()
      const gains = found.map(({ name }) => of.get(name as string) ?? 0)
      sum += discounted(gains) / discounted([...of.values()].sort((a, b) => b - a))
    }
    return sum / grades.size
  } finally {
    await ns.close()
  }
}

function discounted(gains: readonly number[]): number {
  return gains.slice(0, depth).reduce((sum, gain, rank) => sum + gain / Math.log2(rank + 2), 0)
}

function sciFact(): Judged | null {
  const [corpus, asked, judgments] = ['corpus.jsonl.gz', 'queries.jsonl', 'qrels/test.tsv'].map(file =>
    dataPath('text', 'scifact', file),
  )
  if (corpus == null || asked == null || judgments == null) return null
  const documents = new Map<string, string>()
  for (const line of gunzipSync(readFileSync(corpus)).toString().trim().split('\n')) {
    const { _id, title, text } = JSON.parse(line)
    documents.set(_id, `${title} ${text}`)
  }
  const queries = new Map<string, string>()
  for (const line of readFileSync(asked, 'utf8').trim().split('\n')) {
    const { _id, text } = JSON.parse(line)
    queries.set(_id, text)
  }
  const grades = new Map<string, Map<string, number>>()
  for (const line of readFileSync(judgments, 'utf8').trim().split('\n').slice(1)) {
    const [query, document, grade] = line.split('\t') as [string, string, string]
    judge(grades, query, document, Number(grade))
  }
  return { documents, queries, grades }
}

function cranfield(): Judged | null {
  const [corpus, asked, judgments] = ['cran.all.1400', 'cran.qry', 'cranqrel'].map(file =>
    dataPath('text', 'cranfield', file),
  )
  if (corpus == null || asked == null || judgments == null) return null
  const sections = (path: string) => {
    const text = readFileSync(path, 'utf8').replaceAll('\r\n', '\n')
    return text.split(/^\.I +/m).slice(1)
  }
  const part = (section: string, letter: string) =>
    (
      new RegExp(`^\\.${letter}\\n([\\s\\S]*?)(?=^\\.[A-Z]$|$(?![\\s\\S]))`, 'm').exec(section)?.[1] ?? ''
    ).trim()
  const documents = new Map<string, string>()
  for (const section of sections(corpus)) {
    documents.set(String(Number.parseInt(section, 10)), `${part(section, 'T')} ${part(section, 'W')}`)
  }
  // Judgments count the queries; what stands at a query is the number it had in a larger collection.
  const queries = new Map(sections(asked).map((section, i) => [String(i + 1), part(section, 'W')]))
  const grades = new Map<string, Map<string, number>>()
  for (const line of readFileSync(judgments, 'utf8').trim().split('\n')) {
    const [query, document, code] = line.trim().split(/\s+/) as [string, string, string]
    // Codes go from 1, a complete answer, to 4, of minimum interest; -1 is not among them and counts as of none.
    judge(grades, query, document, code === '-1' ? 0 : 5 - Number(code))
  }
  return { documents, queries, grades }
}

function judge(
  grades: Map<string, Map<string, number>>,
  query: string,
  document: string,
  grade: number,
): void {
  const own = grades.get(query) ?? new Map<string, number>()
  grades.set(query, own.set(document, grade))
}
