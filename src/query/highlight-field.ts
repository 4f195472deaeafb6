/** The column of an answer that has the pieces of its texts. */
import type { Field } from '../arrow/types.js'
import { highlightsName, type Plan } from './plan.js'
import type { TextSearch } from './text-plan.js'

/** A struct with a text for each column, by its name. */
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

export function highlightName({ columns }: TextSearch, column: number): string {
  return columns[column]!.path.join('.')
}
