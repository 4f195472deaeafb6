/** Reads the bytes of blobs by row id. */
import { isBlob, isLegacyBlob } from '../arrow/blob.js'
import { type Batch, type Column, isValid } from '../arrow/column.js'
import { concatBatches } from '../arrow/concat.js'
import { emptyColumn } from '../arrow/fill.js'
import { takeColumn } from '../arrow/take.js'
import { typeName } from '../arrow/type-name.js'
import { childFields, type Field, type Schema } from '../arrow/types.js'
import { readReply } from '../client/read-replies.js'
import { takenAtOnce } from '../client/take.js'
import { invalidInput, quote, unsupported } from '../errors.js'
import { inBackticks } from '../primitives/in-backticks.js'
import { Pacer } from '../primitives/pacer.js'
import type { TaskStream } from '../primitives/task.js'
import type { Handler, HandlerOptions, Request } from '../protocol/calls.js'
import { namedColumn } from '../query/named-column.js'
import type { Engine } from '../root/engine.js'
import { openTable } from '../root/open-table.js'
import { answered } from './answered.js'
import { queryTable } from './query.js'

/** Maximum bytes of blobs per batch of the answer. A larger blob is a batch of its own. */
const batchBytes = 32 << 20

const binary = { kind: 'binary', large: true } as const
const uint64 = { kind: 'int', bits: 64, signed: false } as const

/**
 * Return one row for each requested row id, in the order of the request. Its columns are the bytes of the blob (null
 * for a null blob), and `_size`, the size of the whole blob. Throws `InvalidInput` for a column without blobs, and for
 * an id without a row. Throws `Unsupported` for a blob at a URI: the server never opens an address that is stored in a
 * row.
 */
export const fetchTableBlobs: Handler<Engine, 'fetchTableBlobs'> = async (engine, request, options) => {
  const { id, column, row_ids: rowIds, offset = 0, length = Number.POSITIVE_INFINITY } = request
  const { version, reader, head } = await openTable(engine, id, request.version, options)
  const { path, isLegacy } = blobAt(column, reader.schema)
  const text = path.map(inBackticks).join('.')
  const data = isLegacy ? text : `${text}.\`data\``
  const uri = isLegacy || !hasUri(path, reader.schema) ? 'NULL' : `${text}.\`uri\``
  const rows = new RowExpressions(engine, { id, version }, { ...options, table: head.uuid })
  const sizes = new Map<number, number | null>()
  const pacer = new Pacer(options.signal)
  const distinct = [...new Set(rowIds)]
  for (let from = 0; from < distinct.length; from += takenAtOnce) {
    const some = distinct.slice(from, from + takenAtOnce)
    const found = await rows.evaluate(some, {
      size: `octet_length(${data})`,
      elsewhere: `${data} IS NULL AND ${uri} IS NOT NULL`,
    })
    for (let row = 0; row < found.length; row++) {
      const rowId = Number((found.columns[2]!.values as BigUint64Array)[row]!)
      if (bit(found.columns[1]!, row)) {
        throw unsupported(
          `the blob of row ${rowId} in ${quote(column)} is stored at a URI, and the server does not open URIs`,
          {
            hint: 'read the URI from the descriptor (blob_uri), and open it in a program that has the credentials',
          },
        )
      }
      const size = found.columns[0]!
      sizes.set(rowId, isValid(size, row) ? (size.values as Int32Array)[row]! : null)
    }
    await pacer.turn()
  }
  const missing = distinct.find(rowId => !sizes.has(rowId))
  if (missing !== undefined) {
    throw invalidInput(`version ${version} of table ${quote(id.join('$'))} has no row with the id ${missing}`)
  }
  const field: Field = { name: column, type: binary, nullable: true }
  const schema: Schema = { fields: [field, { name: '_size', type: uint64, nullable: true }] }
  const part = (size: number) => Math.max(0, Math.min(size, offset + length) - Math.min(size, offset))
  function* batches(): TaskStream<Batch> {
    for (let from = 0; from < rowIds.length; ) {
      let to = from
      let bytes = 0
      while (to < rowIds.length && to - from < takenAtOnce) {
        bytes += part(sizes.get(rowIds[to]!) ?? 0)
        if (to > from && bytes > batchBytes) break
        to++
      }
      const some = rowIds.slice(from, to)
      let batch: Batch | undefined
      yield rows.evaluate([...new Set(some)], { data }).then(found => {
        batch = blobBatch(schema, some, found, sizes, offset, length)
      })
      yield batch!
      from = to
    }
  }
  return answered(version, { schema, batches: batches() }, options.streamAfter ?? Number.POSITIVE_INFINITY)
}

/**
 * Find the blob column of a request. `isLegacy`: whether the column has the older blob type, which contains only the
 * bytes. Throws `InvalidInput` if the column has no blobs.
 */
function blobAt(
  column: string,
  schema: Schema,
): { readonly path: readonly string[]; readonly isLegacy: boolean } {
  const { path, type } = namedColumn(column, schema)
  const field = fieldAt(path, schema)
  const isLegacy = isLegacyBlob(field)
  if (!isLegacy && !isBlob(field)) {
    throw invalidInput(`column ${quote(column)} is not a blob column: it has the type ${typeName(type)}`)
  }
  return { path, isLegacy }
}

function hasUri(path: readonly string[], schema: Schema): boolean {
  return childFields(fieldAt(path, schema).type).some(({ name }) => name === 'uri')
}

function fieldAt(path: readonly string[], schema: Schema): Field {
  let fields = schema.fields
  let field: Field | undefined
  for (const name of path) {
    field = fields.find(each => each.name === name)
    fields = childFields(field!.type)
  }
  return field!
}

/**
 * Evaluates expressions for rows of one version. The rows are chosen by row id. The last column of a result is
 * `_rowid`.
 */
class RowExpressions {
  readonly #engine: Engine
  readonly #table: Pick<Request<'queryTable'>, 'id' | 'version'>
  readonly #options: HandlerOptions

  constructor(engine: Engine, table: Pick<Request<'queryTable'>, 'id' | 'version'>, options: HandlerOptions) {
    this.#engine = engine
    this.#table = table
    this.#options = { signal: options.signal, table: options.table }
  }

  async evaluate(rowIds: readonly number[], columns: Readonly<Record<string, string>>): Promise<Batch> {
    const filter = `_rowid IN (${rowIds.join(', ')})`
    const request = { ...this.#table, k: rowIds.length, vector: null, filter, with_row_id: true }
    const reply = await queryTable(
      this.#engine,
      { ...request, columns: { column_aliases: columns } },
      this.#options,
    )
    const { schema, batches } = readReply(reply)
    return batches.length === 0 ? emptyBatch(schema) : concatBatches(batches)
  }
}

function emptyBatch(schema: Schema): Batch {
  return { schema, length: 0, columns: schema.fields.map(({ type }) => emptyColumn(type)) }
}

function bit({ values }: Column, row: number): boolean {
  return (((values as Uint8Array)[row >>> 3]! >>> (row & 7)) & 1) === 1
}

/**
 * Build a batch of the answer. `found`: blobs with their row ids. The batch has the bytes from `offset` up to `offset +
 * length` of each blob.
 */
function blobBatch(
  schema: Schema,
  rowIds: readonly number[],
  found: Batch,
  sizes: ReadonlyMap<number, number | null>,
  offset: number,
  length: number,
): Batch {
  const positions = new Map<number, number>()
  const ids = found.columns[1]!.values as BigUint64Array
  for (let row = 0; row < found.length; row++) positions.set(Number(ids[row]!), row)
  const taken = takeColumn(
    found.columns[0]!,
    Uint32Array.from(rowIds, rowId => positions.get(rowId)!),
  )
  const sizesInOrder = rowIds.map(rowId => sizes.get(rowId) ?? null)
  const sized = BigUint64Array.from(sizesInOrder, size => BigInt(size ?? 0))
  const size: Column = { ...taken, type: uint64, values: sized, offsets: null }
  const column = { ...taken, type: binary }
  return { schema, length: rowIds.length, columns: [cut(column, offset, length), size] }
}

/** Return the bytes from `offset` up to `offset + length` of each value. */
function cut(column: Column, offset: number, length: number): Column {
  if (offset === 0 && length === Number.POSITIVE_INFINITY) return column
  const before = column.offsets!
  const offsets = new Int32Array(column.length + 1)
  const from = (row: number) => Math.min(before[row]! + offset, before[row + 1]!)
  for (let row = 0; row < column.length; row++) {
    offsets[row + 1] = offsets[row]! + Math.min(before[row + 1]!, from(row) + length) - from(row)
  }
  const values = new Uint8Array(offsets[column.length]!)
  for (let row = 0; row < column.length; row++) {
    const bytes = offsets[row + 1]! - offsets[row]!
    values.set((column.values as Uint8Array).subarray(from(row), from(row) + bytes), offsets[row]!)
  }
  return { ...column, values, offsets }
}
