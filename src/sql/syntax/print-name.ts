import { isBareName } from './parse.js'

/** A name as it stands in an expression: in backticks where it needs them. */
export function printName(name: string): string {
  return isBareName(name) ? name : `\`${name.replaceAll('`', '``')}\``
}
