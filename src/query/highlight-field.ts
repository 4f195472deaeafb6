/** Defines the schema of the column `_highlights` of an answer. */
import type { Field } from '../arrow/types.js'
import { highlightsName, type Plan } from './plan.js'
import type { TextSearch } from './text-plan.js'

/** Return the field `_highlights`: a struct with one text per highlighted column. */
export function highlightsField({ text, highlights }: Plan): Field {
  const children = highlights.map(
    ({ column }): Field => ({
      name: highlightName(text!, column),
      type: { kind: 'utf8', large: false },
      nullable: true,
    }),
  )
  return { name: highlightsName, type: { kind: 'struct', children }, nullable: false }
}

/** Return the name of a text in `_highlights`: the path of its column. `column`: index of the column in `columns`. */
export function highlightName({ columns }: TextSearch, column: number): string {
  return columns[column]!.path.join('.')
}
