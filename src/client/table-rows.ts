/** Converts the rows that callers pass to Arrow batches. Most rows are converted only when the batches are read. */
import { types } from 'node:util'
import { type BadVectors, soundBatch, soundSchema } from '../arrow/bad-vectors.js'
import type { Batch } from '../arrow/column.js'
import { decodeIpcSteps } from '../arrow/decode-ipc.js'
import { decodeIpcStream } from '../arrow/decode-stream.js'
import { fromForeignArrow, isForeignArrow } from '../arrow/foreign.js'
import { givenSchema } from '../arrow/given-schema.js'
import { batchBytes } from '../arrow/layout.js'
import { isRow, roughBytes, rowsToBatches } from '../arrow/rows.js'
import { equalSchemas } from '../arrow/same-type.js'
import { sliceBatch } from '../arrow/slice.js'
import { runPaced } from '../arrow/steps.js'
import type { Field, Schema } from '../arrow/types.js'
import { addCallerFrames, invalidInput, quote, schemaMismatch } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { Pacer } from '../primitives/pacer.js'
import { ArrowRows } from './arrow-rows.js'
import { isQuery, queryBatches, rowsHint } from './query-batches.js'
import { Source } from './source.js'
import type { IngestOptions, Progress } from './table-data.js'
import { typedSourceOf } from './typed-source.js'

export { givenSchema }

const importConform = lazyImport(() => import('../write/conform.js'))

/** Options of `tableRows`. */
interface TableRowsOptions extends IngestOptions {
  /**
   * Types of the columns of plain objects. Absent: the types are inferred from all rows of an array, or from the first
   * 65,536 rows or 32 MiB of another iterable. Later rows must fit the inferred types.
   */
  readonly schema?: Schema | (() => Promise<Schema>) | undefined
  /** Names of further columns of plain objects that hold vectors. Not together with `schema`. */
  readonly vectorColumns?: readonly string[] | undefined
  /**
   * Whether to leave out columns of the schema that no plain object has. If true, all rows are read first, because only
   * then are the columns known. Default false.
   */
  readonly omitMissingColumns?: boolean
  readonly signal?: AbortSignal | undefined
}

const inferenceWindow = { rows: 64 * 1024, bytes: 32 * 1024 * 1024 } as const

/** Number of rows that are checked for bad vectors before the event loop may run. */
const rowsAtOnce = 8 * 1024

/**
 * Convert rows to Arrow. The caller closes the result.
 *
 * Throws `InvalidInput` for values that are not rows. Throws `SchemaValidation` for rows that do not fit the schema
 * or each other. Errors of later rows are thrown while the result is read.
 */
export async function tableRows(data: object, options: TableRowsOptions = {}): Promise<ArrowRows> {
  const { signal, onProgress, badVectors = 'error', vectorColumns } = options
  const source = open(data, signal)
  try {
    const target = typeof options.schema === 'function' ? await options.schema() : options.schema
    const { schema, columns } = typesOf(data, target)
    if (vectorColumns !== undefined && schema !== undefined) throw vectorsInSchema()
    const omitMissingColumns = options.omitMissingColumns === true
    const rows = await source.rows({ schema, columns, vectorColumns, omitMissingColumns, badVectors, signal })
    if (columns !== undefined) checkTyped(data, rows.schema)
    const batches = onProgress === undefined ? rows.batches : reported(rows.batches, onProgress)
    return new ArrowRows(rows.schema, batches, source.close)
  } catch (error) {
    await source.close()
    throw addCallerFrames(error)
  }
}

function vectorsInSchema() {
  return invalidInput('createTable: vectorColumns and schema cannot be given together', {
    hint: 'leave vectorColumns out, because the schema defines which columns are vectors',
  })
}

/**
 * Return the types of the columns: all (`schema`), or some (`columns`). `target`: the types to which the rows are
 * written. A reader reads texts as these types. Without `target`, the types are those in the options of the reader.
 */
function typesOf(
  data: object,
  target: Schema | undefined,
): { readonly schema?: Schema | undefined; readonly columns?: readonly Field[] | undefined } {
  const source = typeof data === 'object' && data !== null ? typedSourceOf(data) : undefined
  if (target !== undefined) {
    source?.readAs(target)
    return { schema: target }
  }
  if (source === undefined) return {}
  const { schema, isComplete } = source.given()
  return isComplete ? { schema } : { columns: schema.fields }
}

/** Throw `InvalidInput` if a file without rows has a column whose type is unknown. */
function checkTyped(data: object, { fields }: Schema): void {
  const names = typedSourceOf(data)?.emptyColumns?.() ?? []
  const untyped = names.filter(name => fields.every(field => field.name !== name))
  if (fields.length > 0 && untyped.length > 0) throw untypedColumns('the file', untyped, 'give their types')
}

/** Return the error for a file without rows, some of whose columns have no type. */
export function untypedColumns(file: string, names: readonly string[], hint: string) {
  const list = names.map(name => quote(name)).join(', ')
  return invalidInput(`${file} has no rows, so the types of these columns are unknown: ${list}`, { hint })
}

/** Convert Arrow rows to the types of `schema`. Throws `SchemaValidation` if they do not fit. */
export async function withSchema(rows: ArrowRows, schema: Schema | undefined): Promise<ArrowRows> {
  if (schema === undefined || rows.schema === schema) return rows
  const { checkFits, conformBatches } = await importConform()
  checkFits(rows.schema, schema)
  return new ArrowRows(schema, conformBatches(rows.batches, schema), rows.close)
}

async function* reported(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  onProgress: (progress: Progress) => void,
): AsyncGenerator<Batch> {
  let rows = 0
  let bytes = 0
  for await (const batch of batches) {
    rows += batch.length
    bytes += batchBytes(batch)
    onProgress({ rows, bytes })
    yield batch
  }
}

interface ReadingOptions {
  readonly schema: Schema | undefined
  /** Columns with given types. The types of other columns are inferred. Not together with `schema`. */
  readonly columns: readonly Field[] | undefined
  readonly vectorColumns: readonly string[] | undefined
  readonly omitMissingColumns: boolean
  readonly badVectors: BadVectors
  readonly signal: AbortSignal | undefined
}

interface Batches {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
}

interface OpenedSource {
  rows(reading: ReadingOptions): Promise<Batches>
  close(): Promise<void>
}

function open(data: object, signal: AbortSignal | undefined): OpenedSource {
  if (types.isUint8Array(data)) {
    const rows = async (reading: ReadingOptions) => {
      return withoutBadVectors(await runPaced(decodeIpcSteps(data), new Pacer(signal)), reading)
    }
    return { rows, close: async () => {} }
  }
  if (typeof data !== 'object' || data === null) throw notRows(data)
  const own = isQuery(data) ? queryBatches(data, signal) : data
  const iterable = isForeignArrow(own) ? [own] : (own as Iterable<unknown>)
  if (!(Symbol.iterator in iterable) && !(Symbol.asyncIterator in iterable)) throw notRows(data)
  // An array of rows is one item, so that its rows are handled together.
  const items = Array.isArray(data) && kindOfItem(data[0]) === 'row' ? [data] : iterable
  const window = Array.isArray(data) ? undefined : inferenceWindow
  const source = new Source(items, signal)
  return { rows: reading => readSource(source, window, reading), close: () => source.close() }
}

function notRows(data: unknown) {
  return invalidInput(
    `rows must be an iterable of objects, an Arrow table, or Arrow IPC bytes, got ${quote(data)}`,
    { hint: rowsHint(data) },
  )
}

// ---- readers of a source, by the kind of its first item

type Kind = 'row' | 'chunk' | 'arrow' | 'bytes'

const kindNames: Readonly<Record<Kind, string>> = {
  row: 'a plain object',
  chunk: 'an array',
  arrow: 'an Arrow table or batch',
  bytes: 'bytes',
}

function kindOfItem(item: unknown): Kind | null {
  if (types.isUint8Array(item)) return 'bytes'
  if (Array.isArray(item)) return 'chunk'
  if (isForeignArrow(item)) return 'arrow'
  return isRow(item) ? 'row' : null
}

async function readSource(
  source: Source,
  window: typeof inferenceWindow | undefined,
  reading: ReadingOptions,
): Promise<Batches> {
  const first = await source.next()
  const kind = first.done === true ? 'row' : kindOfItem(first.value)
  if (kind === null) throw invalidInput(`row 0 is not an object of columns: ${quote(first.value)}`)
  const items = new Items(source, kind, first)
  if (kind === 'arrow') return withoutBadVectors(await arrowBatches(items), reading)
  if (kind === 'bytes') {
    return withoutBadVectors(
      await decodeIpcStream(items.each() as AsyncGenerator<Uint8Array>, reading),
      reading,
    )
  }
  const pieces = rowPieces(items, new Pacer(reading.signal))
  if (!reading.omitMissingColumns || reading.schema === undefined)
    return rowsToBatches(pieces, { ...reading, window })
  const all: (readonly object[])[] = []
  for await (const piece of pieces) all.push(piece.map(withoutUndefined))
  return rowsToBatches(each(all), { ...reading, schema: fieldsOfRows(all, reading.schema) })
}

/** Return the row without the keys whose value is undefined. */
function withoutUndefined(row: object): object {
  if (typeof row !== 'object' || row === null || !Object.values(row).includes(undefined)) return row
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))
}

async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

/**
 * Return the fields of the schema that the rows have. Returns the whole schema if there are no rows. Also returns the whole
 * schema if a row has an unknown column, so that the error of the conversion lists all columns. Throws `InvalidInput` if
 * only some of the rows have a column: a missing value would replace the stored value by null.
 */
function fieldsOfRows(pieces: readonly (readonly object[])[], schema: Schema): Schema {
  const names = new Set<string>()
  let fewest = Number.POSITIVE_INFINITY
  for (const rows of pieces) {
    for (const row of rows) {
      // Skip values that are not objects: the conversion refuses them, and its message has the number of the row.
      if (typeof row !== 'object' || row === null) continue
      const keys = Object.keys(row)
      fewest = Math.min(fewest, keys.length)
      for (const name of keys) names.add(name)
    }
  }
  const fields = schema.fields.filter(({ name }) => names.has(name))
  if (fields.length !== names.size || fields.length === 0) return schema
  if (fewest < names.size) throw missingColumn(pieces.flat(), names)
  return { ...schema, fields }
}

function missingColumn(rows: readonly object[], names: ReadonlySet<string>) {
  const index = rows.findIndex(row => Object.keys(row).length < names.size)
  const missing = [...names].find(name => !Object.hasOwn(rows[index]!, name))!
  const other = rows.findIndex(row => Object.hasOwn(row, missing))
  return invalidInput(`row ${index} has no value for the column ${quote(missing)}, which row ${other} has`, {
    hint: 'write null to store null; to keep stored values, write rows with other columns in a call of their own',
  })
}

/** The items of a source that are not yet read. All must be of the same kind. */
class Items {
  readonly #source: Source
  readonly #kind: Kind
  #first: IteratorResult<unknown> | null
  /** Number of items that `next` has returned. */
  #taken = 0

  constructor(source: Source, kind: Kind, first: IteratorResult<unknown>) {
    this.#source = source
    this.#kind = kind
    this.#first = first
  }

  /** Take the next item. Throws `InvalidInput` with the item's index if it is of another kind. */
  next(): IteratorResult<unknown> | Promise<IteratorResult<unknown>> {
    const first = this.#first
    this.#first = null
    const next = first ?? this.#source.next()
    return next instanceof Promise ? next.then(result => this.#checked(result)) : this.#checked(next)
  }

  async *each(): AsyncGenerator<unknown> {
    for (;;) {
      const next = await this.next()
      if (next.done === true) return
      yield next.value
    }
  }

  #checked(next: IteratorResult<unknown>): IteratorResult<unknown> {
    if (next.done === true) return next
    const { value } = next
    const isPlain =
      typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
    const kind = isPlain && this.#kind === 'row' ? 'row' : kindOfItem(value)
    const index = this.#taken++
    if (kind === this.#kind) return next
    const got = kind === null ? quote(value) : kindNames[kind]
    throw invalidInput(
      `item ${index} of the rows is ${got}, but earlier items are of another kind: ${kindNames[this.#kind]}`,
    )
  }
}

/** Maximum rows and approximate bytes of a piece. A piece takes a few milliseconds and a few megabytes of memory. */
const pieceRows = 1024
const pieceBytes = 4 * 1024 * 1024

/** Yield the rows of single objects, or of arrays of objects, in pieces. */
async function* rowPieces(items: Items, pacer: Pacer): AsyncGenerator<readonly object[]> {
  let piece: object[] = []
  let bytes = 0
  for (;;) {
    const pulled = items.next()
    const next = pulled instanceof Promise ? await pulled : pulled
    if (next.done === true) break
    const rows: readonly object[] = Array.isArray(next.value) ? next.value : [next.value]
    for (let i = 0; i < rows.length; i++) {
      piece.push(rows[i]!)
      bytes += roughBytes(rows[i])
      if (piece.length < pieceRows && bytes < pieceBytes) continue
      yield piece
      piece = []
      bytes = 0
    }
    if (pacer.due()) await pacer.pause()
  }
  if (piece.length > 0) yield piece
}

async function arrowBatches(items: Items): Promise<Batches> {
  const first = fromForeignArrow((await items.next()).value)!
  async function* batches(): AsyncGenerator<Batch> {
    yield* first.batches
    let index = 1
    for await (const item of items.each()) {
      const { schema, batches } = fromForeignArrow(item)!
      if (!equalSchemas(schema, first.schema)) {
        throw schemaMismatch(`item ${index} of the rows has another schema than the earlier items`)
      }
      index++
      yield* batches
    }
  }
  return { schema: first.schema, batches: batches() }
}

/** Apply the option `badVectors` to Arrow data. Other values are unchanged. */
function withoutBadVectors(
  { schema: own, batches }: Batches,
  { schema: target, vectorColumns, badVectors, signal }: ReadingOptions,
): Batches {
  if (vectorColumns !== undefined) {
    throw invalidInput('vectorColumns is not allowed for Arrow data, because Arrow data has its own types', {
      hint: "leave vectorColumns out; afterwards, convert lists with alterColumns({ column: { type: 'vector(384)' } })",
    })
  }
  if (badVectors === 'error') return { schema: own, batches }
  const schema = soundSchema(own, target ?? own, badVectors)
  async function* sound(): AsyncGenerator<Batch> {
    const pacer = new Pacer(signal)
    let firstRow = 0
    for await (const batch of batches) {
      for (let from = 0; from < batch.length; from += rowsAtOnce) {
        const piece = sliceBatch(batch, from, Math.min(rowsAtOnce, batch.length - from))
        yield soundBatch(piece, schema, badVectors, firstRow)
        firstRow += piece.length
        await pacer.turn()
      }
    }
  }
  return { schema, batches: sound() }
}
