/** The column `_highlights` of an answer. */
import type { Field } from '../arrow/types.js'
import { highlightsName, type Plan } from './plan.js'
import type { TextSearch } from './text-plan.js'

/** Return its field: a struct with one text per highlighted column, named like the column. */
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

/** Return the name of a highlighted column in `_highlights`: its path. `column`: index in the search. */
export function highlightName({ columns }: TextSearch, column: number): string {
  return columns[column]!.path.join('.')
}
