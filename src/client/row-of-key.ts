/** Implementation of `Table.get`: reads the row with a given key. */

import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { inBackticks } from '../primitives/in-backticks.js'
import type { ParameterScalar } from '../protocol/parameters.js'
import type { RowsOptions } from './rows-options.js'
import type { Search } from './search.js'

const defaultColumn = 'id'

/** Return the first row of `query` whose column `on` (default `id`) equals `key`, or null if no row has the key. */
export async function rowOfKey(
  query: Search,
  key: unknown,
  on: string | undefined,
  options: RowsOptions,
): Promise<object | null> {
  if (!isKey(key)) {
    throw invalidInput(
      `get: the key must be a string, number, bigint, boolean, Date or Uint8Array, got ${quote(key)}`,
      {
        hint:
          key === null
            ? "no row has NULL as its key; write query().where('id IS NULL')"
            : "write get(5) or get('B-12', { on: 'sku' })",
      },
    )
  }
  try {
    return await query.where(`${inBackticks(on ?? defaultColumn)} = $1`, [key]).first(options)
  } catch (error) {
    if (on !== undefined || !(error instanceof SheafError) || error.code !== ErrorCode.ColumnNotFound)
      throw error
    throw invalidInput(`get: the table has no column ${quote(defaultColumn)}`, {
      hint: "name the key column: get(key, { on: 'sku' })",
      cause: error,
    })
  }
}

function isKey(key: unknown): key is Exclude<ParameterScalar, null> {
  const isObject = key instanceof Date || key instanceof Uint8Array
  return isObject || ['string', 'number', 'bigint', 'boolean'].includes(typeof key)
}
