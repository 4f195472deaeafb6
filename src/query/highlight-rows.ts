/** Computes the column `_highlights`: the texts of the rows of the answer, with the matching words marked. */

import { type Batch, type Column, isValid } from '../arrow/column.js'
import { rowsToBatch } from '../arrow/rows.js'
import type { DataType } from '../arrow/types.js'
import { highlighted } from '../indexes/text/highlight.js'
import type { Pacer } from '../primitives/pacer.js'
import { columnAt } from '../sql/batch-columns.js'
import { highlightName, highlightsField } from './highlight-field.js'
import type { RowHits } from './hits.js'
import type { Run } from './run.js'
import type { Highlighting, TextSearch } from './text-plan.js'
import { matchingTerms } from './wanted-terms.js'

/**
 * Maximum number of UTF-16 code units of a text that are searched for matches. More would block the event loop for too
 * long.
 */
const unitsMax = 16 * 1024
/**
 * Number of bytes of a text that are decoded. `unitsMax` code units have at most 3 bytes each, so the character that
 * this limit may split is after the first `unitsMax` units.
 */
const bytesMax = 3 * unitsMax + 3

/** Add the column `_highlights` to a batch. `hits`: the rows of the batch. */
export async function withHighlights(batch: Batch, run: Run, hits: RowHits): Promise<Batch> {
  const { plan, source, pacer } = run
  const text = plan.text!
  const field = highlightsField(plan)
  const names = [...new Set(plan.highlights.map(({ column }) => text.columns[column]!.path[0]!))]
  const read = await source.batch(hits, names, false)
  const rows: Record<string, string | null>[] = Array.from({ length: batch.length }, () => ({}))
  for (const each of plan.highlights) {
    const name = highlightName(text, each.column)
    const column = columnAt(read, text.columns[each.column]!.path)
    const mark = marking(text, each)
    for (const [row, marked] of rows.entries()) {
      const texts = textsOf(column, row)
      // `unitsMax` may split a surrogate pair. `toWellFormed` replaces the half pair.
      marked[name] = texts === null ? null : (await mark(texts, pacer)).toWellFormed()
    }
  }
  const marks = rowsToBatch(
    rows.map(row => ({ [field.name]: row })),
    { fields: [field] },
  )
  return {
    schema: { ...batch.schema, fields: [...batch.schema.fields, field] },
    length: batch.length,
    columns: [...batch.columns, ...marks.columns],
  }
}

/**
 * Return a function that marks matches in the texts of a row. It joins the texts with a match, or returns the first
 * text.
 */
function marking(text: TextSearch, { column, options }: Highlighting) {
  const { analyzer } = text.columns[column]!
  const matches = matchingTerms(text.query, column)
  return async (texts: readonly string[], pacer: Pacer): Promise<string> => {
    const found: string[] = []
    let first = ''
    for (const [i, each] of texts.entries()) {
      const marked = highlighted(each, analyzer, matches, options)
      if (i === 0) first = marked.text
      if (marked.ranges.length > 0) found.push(marked.text)
      if (pacer.due()) await pacer.pause()
    }
    return found.length > 0 ? found.join(' … ') : first
  }
}

/** Return the texts of a row: the text itself, or the texts of a list. Return null if the row is NULL. */
function textsOf(column: Column, row: number): readonly string[] | null {
  if (!isValid(column, row)) return null
  const { type, offsets, children } = column
  if (type.kind === 'list') {
    const child = children[0]!
    const texts: string[] = []
    for (let i = offsets![row]!; i < offsets![row + 1]!; i++) {
      const text = textAt(child, i)
      if (text !== null) texts.push(text)
    }
    return texts
  }
  const text = textAt(column, row)
  return text === null ? null : [text]
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

function textAt(column: Column, row: number): string | null {
  if (!isValid(column, row)) return null
  const { type, offsets, values, dictionary } = column
  if ((type as DataType).kind === 'dictionary') return textAt(dictionary!, Number(values![row]!))
  const from = offsets![row]!
  const to = Math.min(offsets![row + 1]!, from + bytesMax)
  return utf8.decode((values as Uint8Array).subarray(from, to)).slice(0, unitsMax)
}
