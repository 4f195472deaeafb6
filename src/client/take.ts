/** Reads rows by number: by `_rowid`, which never changes, or by `_rowoffset`, the position of a row in the version. */
import type { Batch } from '../arrow/column.js'
import type { ArrowTable } from '../arrow/to-arrow.js'
import type { Schema } from '../arrow/types.js'
import { invalidInput, quote } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callShape, type Operations, type Request } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import { importReplies } from './import-replies.js'
import type { TakenRows } from './read-replies.js'
import type { Computed, RowsAs, Selected, SelectedName } from './row-types.js'
import {
  type ConnectionInt64,
  callOptions,
  type RowObject,
  type RowsOptions,
  rowsShape,
  withInt64,
} from './rows-options.js'
import { columnsField, selects } from './selection.js'
import type { Row } from './table-data.js'

/** A query request without the condition that selects the rows. */
type TakeRequest = Pick<Request<'queryTable'>, 'id' | 'version' | 'columns' | 'with_row_id'>

/** The columns by which rows can be taken. */
type NumberColumn = '_rowid' | '_rowoffset'

/** Maximum rows per query. The limit bounds the size of the condition and of the answer. */
export const takenAtOnce = 4 * 1024

/**
 * A request for rows by number. The answer has the order of the numbers. The object is immutable: `select` and
 * `withRowId` return a new one.
 *
 * ```js
 * await table.takeRowIds([7, 3]).select(['title']).toArray()
 * ```
 */
export class Take<out R extends object = Row> {
  readonly #operations: Operations
  readonly #request: TakeRequest
  readonly #column: NumberColumn
  readonly #numbers: readonly number[]
  readonly #int64: ConnectionInt64

  constructor(
    operations: Operations,
    request: TakeRequest,
    column: NumberColumn,
    numbers: readonly number[],
    int64?: ConnectionInt64,
  ) {
    this.#operations = operations
    this.#request = request
    this.#column = column
    this.#numbers = numbers
    this.#int64 = int64
  }

  /** Select the columns of the answer, like `Search.select`. Aggregates are not allowed. */
  select<S extends object, const C extends Readonly<Record<string, string>>>(
    this: Take<S>,
    columns: C,
  ): Take<Computed<S, C>>
  select<S extends object, const K extends SelectedName<S>>(
    this: Take<S>,
    columns: readonly K[],
  ): Take<Selected<S, K>>
  select(columns: readonly string[] | Readonly<Record<string, string>>): Take<object> {
    return this.#with<object>(columnsField('select', columns))
  }

  /** Add the column `_rowid`, the id of the row. */
  withRowId(): Take<R & { readonly _rowid: number }> {
    return this.#with<R & { readonly _rowid: number }>({ with_row_id: true })
  }

  /** Return the rows as objects. `Table.takeRowIds` describes their order. */
  async toArray(options?: RowsOptions & { readonly int64?: undefined }): Promise<R[]>
  async toArray<S extends object, const O extends RowsOptions>(
    this: Take<S>,
    options: O,
  ): Promise<RowsAs<S, O>[]>
  async toArray(given: RowsOptions = {}): Promise<object[]> {
    const options = withInt64(parse(rowsShape, given, 'toArray'), this.#int64)
    const call = callOptions(options)
    if (this.#numbers.length <= takenAtOnce) {
      const { page } = await takePage(this.#operations, this.#request, this.#column, this.#numbers, call)
      const { rowObjects } = await importReplies()
      return rowObjects(page.batches, options)
    }
    const rows: RowObject[] = []
    for await (const { batches } of this.#pages(call)) {
      const { rowObjects } = await importReplies()
      for (const row of await rowObjects(batches, options)) rows.push(row)
    }
    return rows
  }

  /** Return the rows as a table of apache-arrow. */
  async toArrow(given: CallOptions = {}): Promise<ArrowTable> {
    const options = parse(callShape, given, 'toArrow')
    const batches: Batch[] = []
    let schema: Schema = { fields: [] }
    for await (const page of this.#pages(options)) {
      schema = page.schema
      batches.push(...page.batches)
    }
    const { toArrowTable } = await importReplies()
    return toArrowTable(schema, batches)
  }

  #pages(options: CallOptions): AsyncGenerator<TakenRows> {
    return takePages(this.#operations, this.#request, this.#column, this.#numbers, options)
  }

  #with<S extends object>(more: Partial<TakeRequest>): Take<S> {
    const request = { ...this.#request, ...more }
    return new Take<S>(this.#operations, request, this.#column, this.#numbers, this.#int64)
  }
}

takeNoMore(Take.prototype, {
  select: [1, 'name the columns in an array'],
  withRowId: 0,
  toArray: 1,
  toArrow: 1,
})

/**
 * Check and convert row numbers. Numbers beyond 2^53 are left out, because no row has such a number. Throws
 * `InvalidInput` for values that are not row numbers. `what`: the name of the method, for messages.
 */
export function rowNumbers(numbers: Iterable<number | bigint>, what: string): number[] {
  if (typeof numbers !== 'object' || numbers === null || !(Symbol.iterator in numbers)) {
    throw invalidInput(`${what} needs an array or iterable of row numbers, got ${quote(numbers)}`)
  }
  const found: number[] = []
  let i = 0
  for (const number of numbers) {
    const isWhole = typeof number === 'bigint' || Number.isSafeInteger(number)
    if (!isWhole || number < 0) {
      throw invalidInput(`${what}: row numbers must be integers >= 0, got ${quote(number)} at position ${i}`)
    }
    i++
    if (number <= Number.MAX_SAFE_INTEGER) found.push(Number(number))
  }
  return found
}

/**
 * Yield the rows with the given numbers in pages, in the order of the numbers. All rows are from one version. Numbers
 * without a row are left out. Yields at least one page, because a page has the schema.
 */
export async function* takePages(
  operations: Operations,
  request: TakeRequest,
  column: NumberColumn,
  numbers: ArrayLike<number>,
  options: CallOptions,
): AsyncGenerator<TakenRows> {
  const pacer = new Pacer(options.signal)
  let { version } = request
  for (let from = 0; from === 0 || from < numbers.length; from += takenAtOnce) {
    const length = Math.min(takenAtOnce, numbers.length - from)
    const some = Array.from({ length }, (_, i) => numbers[from + i]!)
    const taken = await takePage(operations, { ...request, version }, column, some, options)
    version = taken.version
    yield taken.page
    await pacer.turn()
  }
}

/** Read the rows of at most `takenAtOnce` numbers. Returns the rows, and the version that was read. */
async function takePage(
  operations: Operations,
  request: TakeRequest,
  column: NumberColumn,
  numbers: readonly number[],
  options: CallOptions,
): Promise<{ readonly page: TakenRows; readonly version: number }> {
  const isSelected = selects(request, column) || (column === '_rowid' && request.with_row_id === true)
  const rowQuery = { vector: null, k: numbers.length, filter: rowCondition(column, numbers) }
  const numberOption = column === '_rowid' ? { with_row_id: true } : { resume_at: 0 }
  const reply = await operations.queryTable(Object.assign({}, request, rowQuery, numberOption), options)
  const { takenRows } = await importReplies()
  return { page: takenRows(reply, column, isSelected, numbers), version: reply.version }
}

/** Return an SQL condition that is true for the rows with the given numbers. Undefined if `numbers` is empty. */
function rowCondition(column: NumberColumn, numbers: readonly number[]): string | undefined {
  if (numbers.length === 0) return undefined
  return numbers.length === 1 ? `${column} = ${numbers[0]}` : `${column} IN (${numbers.join(', ')})`
}
