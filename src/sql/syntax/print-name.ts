import { inBackticks } from '../../primitives/in-backticks.js'
import { isBareName } from './parse.js'

/** Return a column name as SQL text. Adds backticks if they are necessary. */
export function printName(name: string): string {
  return isBareName(name) ? name : inBackticks(name)
}
