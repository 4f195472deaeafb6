/** Every function the dialect knows by its names. A new function is a row in the table of its subject, and a kernel. */
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

/** The function of that name, in any case, or undefined. */
export function functionNamed(name: string): SqlFunction | undefined {
  return byName.get(name.toLowerCase())
}

/** Names a call may use. */
export const functionNames: readonly string[] = [...byName.keys()].filter(name => name !== '||')
