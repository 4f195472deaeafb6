/** Rows by their numbers: by id, which a row keeps for its life, or by how many rows of the version come before it. */
import type { Batch } from '../arrow/column.js'
import { concatBatches } from '../arrow/concat.js'
import { takeBatch } from '../arrow/take.js'
import { type ArrowTable, toArrowTable } from '../arrow/to-arrow.js'
import type { Schema } from '../arrow/types.js'
import { assert, invalidInput, quote } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import { readReply } from './arrow-rows.js'
import { callOptions, type RowObject, type RowsOptions, rowObjects } from './row-objects.js'
import { columnsField, selects } from './selection.js'

/** What rows are taken of, and how: a query but for what says which rows. */
export type TakeRequest = Pick<Request<'queryTable'>, 'id' | 'version' | 'columns' | 'with_row_id'>

export type NumberColumn = '_rowid' | '_rowoffset'

/** Rows of one query: neither the condition that names them nor the answer grows beyond it. */
export const takenAtOnce = 4 * 1024

/** `table.takeRowIds([7, 3]).select(['title']).toArray()`: rows by number, in the order asked for. Immutable. */
export class Take {
  readonly #operations: Operations
  readonly #request: TakeRequest
  readonly #column: NumberColumn
  readonly #numbers: readonly number[]

  constructor(
    operations: Operations,
    request: TakeRequest,
    column: NumberColumn,
    numbers: readonly number[],
  ) {
    this.#operations = operations
    this.#request = request
    this.#column = column
    this.#numbers = numbers
  }

  /** What to return, as in `Search.select`, but for aggregates. */
  select(columns: readonly string[] | Readonly<Record<string, string>>): Take {
    return this.#with(columnsField(columns))
  }

  /** Adds `_rowid`. */
  withRowId(): Take {
    return this.#with({ with_row_id: true })
  }

  /** The rows as objects; see `Table.takeRowIds` for their order. */
  async toArray(options: RowsOptions = {}): Promise<RowObject[]> {
    const call = callOptions(options)
    const rows: RowObject[] = []
    for await (const { batches } of this.#pages(call)) {
      for (const row of await rowObjects(batches, options)) rows.push(row)
    }
    return rows
  }

  /** The rows as a table of apache-arrow. */
  async toArrow(options: CallOptions = {}): Promise<ArrowTable> {
    const batches: Batch[] = []
    let schema: Schema = { fields: [] }
    for await (const page of this.#pages(options)) {
      schema = page.schema
      batches.push(...page.batches)
    }
    return toArrowTable(schema, batches)
  }

  #pages(options: CallOptions): AsyncGenerator<TakenRows> {
    return takePages(this.#operations, this.#request, this.#column, this.#numbers, options)
  }

  #with(more: Partial<TakeRequest>): Take {
    return new Take(this.#operations, { ...this.#request, ...more }, this.#column, this.#numbers)
  }
}

/** Throws code 13 for what is no number of a row; numbers beyond 2^53, which no row has, are left out. */
export function rowNumbers(numbers: Iterable<number | bigint>, what: string): number[] {
  if (typeof numbers !== 'object' || numbers === null || !(Symbol.iterator in numbers)) {
    throw invalidInput(`${what} takes the numbers of rows as an array or iterable, got ${quote(numbers)}`)
  }
  const found: number[] = []
  let i = 0
  for (const number of numbers) {
    const isWhole = typeof number === 'bigint' || Number.isSafeInteger(number)
    if (!isWhole || number < 0) {
      throw invalidInput(`${what} takes whole numbers from 0 on, got ${quote(number)} at ${i}`)
    }
    i++
    if (number <= Number.MAX_SAFE_INTEGER) found.push(Number(number))
  }
  return found
}

export interface TakenRows {
  readonly schema: Schema
  /** One with the rows of the page, or none. */
  readonly batches: readonly Batch[]
}

/**
 * The rows with these numbers, in their order, a page after the other, all of one version; those that are not there are
 * left out. At least one page comes, so that the schema is known.
 */
export async function* takePages(
  operations: Operations,
  request: TakeRequest,
  column: NumberColumn,
  numbers: ArrayLike<number>,
  options: CallOptions,
): AsyncGenerator<TakenRows> {
  const pacer = new Pacer(options.signal)
  const shows = selects(request, column) || (column === '_rowid' && request.with_row_id === true)
  let { version } = request
  for (let from = 0; from === 0 || from < numbers.length; from += takenAtOnce) {
    const some = Array.from(
      { length: Math.min(takenAtOnce, numbers.length - from) },
      (_, i) => numbers[from + i]!,
    )
    const reply = await operations.queryTable(
      {
        ...request,
        ...(version !== undefined && { version }),
        vector: null,
        k: some.length,
        ...(some.length > 0 && { filter: `${column} IN (${some.join(', ')})` }),
        ...(column === '_rowid' ? { with_row_id: true } : { resume_at: 0 }),
      },
      options,
    )
    version = reply.version
    const { schema, batches } = readReply(reply)
    const place = schema.fields.findIndex(field => field.name === column)
    assert(place !== -1, `a query that asks for ${column} gives it`)
    const kept = <T>(list: readonly T[]) => (shows ? list : list.filter((_, i) => i !== place))
    const answer = { ...schema, fields: kept(schema.fields) }
    if (batches.length === 0) {
      yield { schema: answer, batches: [] }
      continue
    }
    const found = concatBatches(batches)
    await pacer.turn()
    const rows = inOrder(some, found.columns[place]!.values as BigUint64Array)
    yield {
      schema: answer,
      batches: [takeBatch({ ...found, schema: answer, columns: kept(found.columns) }, rows)],
    }
    await pacer.turn()
  }
}

/** Where the rows with these numbers stand among those found. */
function inOrder(numbers: readonly number[], found: BigUint64Array): Uint32Array {
  const places = new Map<number, number>()
  for (let i = 0; i < found.length; i++) places.set(Number(found[i]!), i)
  const rows = new Uint32Array(numbers.length)
  let count = 0
  for (const number of numbers) {
    const place = places.get(number)
    if (place !== undefined) rows[count++] = place
  }
  return rows.subarray(0, count)
}
