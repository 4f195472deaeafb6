/**
 * Collections that people have judged, and how good the ten best documents are by them: nDCG@10 as trec_eval's ndcg_cut has it. A
 * document's gain is its grade, discounted by log2 of its rank; a query's best possible sum is that of all its judgments; the mean is
 * over judged queries.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { dataPath } from '../../scripts/data.js'

/** Documents by their names, queries by theirs, and of these how relevant which documents are: above 0, others are not. */
export interface Judged {
  readonly documents: ReadonlyMap<string, string>
  readonly queries: ReadonlyMap<string, string>
  readonly grades: ReadonlyMap<string, ReadonlyMap<string, number>>
}

const depth = 10

/** The mean gain of what `ask` finds: names of documents, best first. */
export async function meanGain(
  { queries, grades }: Judged,
  ask: (query: string) => Promise<readonly string[]>,
): Promise<number> {
  let sum = 0
  for (const [query, of] of grades) {
    const gains = (await ask(queries.get(query)!)).map(name => of.get(name) ?? 0)
    sum += discounted(gains) / discounted([...of.values()].sort((a, b) => b - a))
  }
  return sum / grades.size
}

function discounted(gains: readonly number[]): number {
  return gains.slice(0, depth).reduce((sum, gain, rank) => sum + gain / Math.log2(rank + 2), 0)
}

/** Null where it is not on this machine. */
export function sciFact(): Judged | null {
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

/** Null where it is not on this machine. */
export function cranfield(): Judged | null {
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
