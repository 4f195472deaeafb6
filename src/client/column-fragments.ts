/** The columns of a table as SQL fragments, for conditions whose column names the compiler checks. */
import { invalidInput, quote } from '../errors.js'
import { inBackticks } from '../primitives/in-backticks.js'
import { isSqlFragment, makeFragment, type SqlFragment } from '../sql/syntax/sql-fragment.js'
import type { FilterColumn } from './row-types.js'

/** For each column, the fragment that names it. */
type ColumnFragments<T extends object> = { readonly [K in FilterColumn<T>]: SqlFragment }

/** A condition as a function of the columns. */
export type ColumnCondition<T extends object> = (columns: ColumnFragments<T>) => SqlFragment

/** Return the condition that the function makes. Throws `InvalidInput` if it returns anything but a fragment. */
export function conditionFrom<T extends object>(call: string, condition: ColumnCondition<T>): SqlFragment {
  const made: unknown = condition(columnFragments as ColumnFragments<T>)
  if (isSqlFragment(made)) return made
  throw invalidInput(`${call}: the function must return a fragment made by the tag sql, got ${quote(made)}`, {
    hint: `write ${call}(c => sql\`\${c.id} = \${5}\`)`,
  })
}

/** Every property is the fragment that names the column. The engine checks whether the table has the column. */
const columnFragments: Readonly<Record<string, SqlFragment>> = new Proxy(
  {},
  {
    get: (_, name) =>
      typeof name === 'string'
        ? makeFragment({ pieces: [inBackticks(name)], isOperand: true }, [])
        : undefined,
  },
)
