/**
 * The table of all functions. To add a function, write a kernel, and add a row to the table for its kind of function.
 */
import { bitFunctions } from './bit-functions.js'
import { conditionalFunctions } from './conditional-functions.js'
import { hashFunctions } from './hash-functions.js'
import { jsonFunctions } from './json-functions.js'
import { listEditFunctions } from './list-edit-functions.js'
import { listFunctions } from './list-functions.js'
import { numberFunctions } from './number-functions.js'
import { regexpFunctions } from './regexp-functions.js'
import type { SqlFunction } from './signature.js'
import { structFunctions } from './struct-functions.js'
import { temporalFunctions } from './temporal-functions.js'
import { textFunctions } from './text-functions.js'

export { computedType, listOf, type SqlFunction } from './signature.js'

const tables = [
  textFunctions,
  hashFunctions,
  numberFunctions,
  bitFunctions,
  temporalFunctions,
  conditionalFunctions,
  listFunctions,
  listEditFunctions,
  jsonFunctions,
  regexpFunctions,
  structFunctions,
]

const byName = new Map(
  tables.flat().flatMap(row => [row.name, ...(row.aliases ?? [])].map(name => [name, row] as const)),
)

/** Return the function with this name, ignoring case. Return undefined for an unknown name. */
export function functionNamed(name: string): SqlFunction | undefined {
  return byName.get(name.toLowerCase())
}

/** All function names that a call can use. The names of operators, which are symbols, are left out. */
export const functionNames: readonly string[] = [...byName.keys()].filter(name => /^\w/.test(name))
