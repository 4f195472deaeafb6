/**
 * Describes a text search as text. Some clients parse the words before the first colon, so these words must not change.
 */
import { quote } from '../errors.js'
import type { Pacer } from '../primitives/pacer.js'
import { runTask } from '../primitives/task.js'
import type { TableReader } from '../table/table-reader.js'
import { countText } from './explain-near.js'
import { partialCover } from './probed-rows.js'
import type { QueryTerm, TextColumn, TextNode, TextSearch } from './text-plan.js'

/** Describe a text search. `k`: maximum number of rows, `Infinity` for no limit. Reads nothing. */
export async function describeTextSearch(
  { query, columns, fast }: TextSearch,
  k: number,
  reader: TableReader,
  pacer: Pacer,
): Promise<string> {
  const how: string[] = []
  for (const column of columns) how.push(await columnText(column, fast, reader, pacer))
  return `${nodeText(query, columns)}, k = ${countText(k)}; ${how.join('; ')}`
}

function nodeText(node: TextNode, columns: readonly TextColumn[]): string {
  const list = (nodes: readonly TextNode[]) => `[${nodes.map(each => nodeText(each, columns)).join('; ')}]`
  switch (node.kind) {
    case 'match': {
      const { terms, prefix, all, fuzziness, boost } = node
      const more = [
        ...(all ? ['operator=And'] : []),
        ...(fuzziness === 0 ? [] : [`fuzziness=${fuzziness ?? 'by length'}`]),
        ...(boost === 1 ? [] : [`boost=${boost}`]),
      ]
      const asked = [...terms.map(termText), ...(prefix === null ? [] : [`${prefix.start}*`])]
      const words = [`query=${asked.join(' ')}`, `column=${nameOf(columns[node.column]!)}`]
      return `MatchQuery: ${[...words, ...more].join(', ')}`
    }
    case 'phrase': {
      const slop = node.slop === 0 ? '' : `, slop=${node.slop}`
      const words = node.terms.map(({ term }) => term).join(' ')
      return `PhraseQuery: query=${quote(words)}, column=${nameOf(columns[node.column]!)}${slop}`
    }
    case 'best':
      return `MultiMatchQuery: ${list(node.of)}`
    case 'boost': {
      const { positive, negative, negativeBoost } = node
      return `BoostQuery: positive=${nodeText(positive, columns)}, negative=${nodeText(negative, columns)}, negative_boost=${negativeBoost}`
    }
    case 'boolean':
      return `BooleanQuery: must=${list(node.must)}, should=${list(node.should)}, must_not=${list(node.mustNot)}`
  }
}

function termText({ term, count }: QueryTerm): string {
  return count === 1 ? term : `${term} x ${count}`
}

function nameOf({ path }: TextColumn): string {
  return path.join('.')
}

async function columnText(
  column: TextColumn,
  fast: boolean,
  reader: TableReader,
  pacer: Pacer,
): Promise<string> {
  const name = quote(nameOf(column))
  const index = reader.textIndexes.find(known => known.name === column.index)
  if (index === undefined) return `${name} has no index: every row is ${fast ? 'skipped' : 'read'}`
  let rows = 0
  for (const [fragment, covered] of await runTask(partialCover(index, reader, pacer)))
    rows += fragment.rows - covered.count
  const left = rows === 0 ? '' : `, ${rows} unindexed rows ${fast ? 'skipped' : 'read'}`
  return `${name} by ${index.name}, deltas=${index.segments.length}${left}`
}
