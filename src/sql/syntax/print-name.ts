import { inBackticks } from '../../primitives/in-backticks.js'
import { isBareName } from './parse.js'

/** Return a name as it is written in an expression: in backticks if necessary. */
export function printName(name: string): string {
  return isBareName(name) ? name : inBackticks(name)
}
