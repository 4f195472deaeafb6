/** Reads Parquet files as record batches. */
import type { Batch, Column } from '../../src/arrow/column.js'
import { givenSchema } from '../../src/arrow/given-schema.js'
import { decodeMessage, decodePrefix, prefixBytes } from '../../src/arrow/ipc-message.js'
import { takeColumn } from '../../src/arrow/take.js'
import { type ArrowBatch, toArrowBatch, toArrowTable } from '../../src/arrow/to-arrow.js'
import type { Field, Schema } from '../../src/arrow/types.js'
import { conditionShape } from '../../src/client/filter-fields.js'
import { type SchemaInput, schemaShape } from '../../src/client/schema.js'
import { columnNotFound, invalidInput, SheafError, unsupported } from '../../src/errors.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { array, options as declare, given, string } from '../../src/protocol/shape.js'
import { bindFilter, type Parameters } from '../../src/sql/binding/bind.js'
import type { BoundExpression } from '../../src/sql/bound-expression.js'
import { selectRows } from '../../src/sql/evaluate.js'
import { isSqlFragment, type SqlFragment } from '../../src/sql/syntax/sql-fragment.js'
import { assembleColumn } from './parquet/assemble-columns.js'
import { brokenParquet } from './parquet/fault.js'
import { LeafReader, type LeafRows } from './parquet/leaf-reader.js'
import { leavesOf } from './parquet/leaves-of.js'
import { type FileMetadata, type RowGroup, readMetadata } from './parquet/metadata.js'
import { Pushdown, placesOf, type RowRange } from './parquet/pushdown.js'
import { openRanges, type ParquetSource, type RangeFile } from './parquet/random-access.js'
import { type LeafPlan, planColumns, type ReadPlan } from './parquet/read-plan.js'
import { inFile, type ReadOptions } from './source.js'

export interface ReadParquetOptions extends ReadOptions {
  /** Names of the columns to read, in order. Default: all columns of the file, or of `schema`. */
  readonly columns?: readonly string[] | undefined
  /**
   * An SQL condition on the columns of the file. Only rows for which it is true are yielded. Row groups and pages whose
   * statistics exclude such rows are not read.
   */
  readonly where?: string | SqlFragment | undefined
  /** Values of the parameters in `where`. */
  readonly parameters?: Parameters | undefined
  /** The columns to read, and the Arrow types to read them as. Default: the types that the file has. */
  readonly schema?: SchemaInput | undefined
}

export const readParquetShape = declare<ReadParquetOptions>()({
  columns: array(string(), { min: 1, distinct: name => name }),
  where: conditionShape,
  parameters: given<Parameters>(
    'an array or an object',
    value => typeof value === 'object' && value !== null,
  ),
  schema: schemaShape,
  signal: signalShape,
})

/**
 * Read the rows of a Parquet file as record batches, each on demand. A file without matching rows gives one empty batch,
 * which has the columns. The source is closed when the iteration ends.
 *
 * Of a path or a URL, only the needed columns, row groups and pages are read, and a batch of each column is in memory.
 * Chunks of bytes and a path that ends in `.gz` are kept in memory as a whole.
 *
 * ```js
 * for await (const batch of readParquet('docs.parquet', { columns: ['id'], where: 'year >= 2020' })) await table.add(batch)
 * ```
 * @throws InvalidInput for data that is not Parquet, truncated or broken, and for a wrong condition; ColumnNotFound;
 * SchemaValidation for a type in `schema` that the file cannot be read as; Unsupported for encrypted files, and for
 * encodings and compressions that Sheaf does not read; ServiceUnavailable for errors of a server.
 */
export function readParquet(source: ParquetSource, options?: ReadParquetOptions): AsyncGenerator<ArrowBatch>
export async function* readParquet(
  source: ParquetSource,
  options: ReadParquetOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<ArrowBatch> {
  refuseMore('readParquet', 2, more)
  const checked = parse(readParquetShape, options, 'readParquet')
  const { signal } = checked
  const condition = conditionOf(checked)
  signal?.throwIfAborted()
  const file = await openRanges(source, signal)
  try {
    const metadata = await openMetadata(file).catch(error => Promise.reject(inFile(error, source)))
    const scan = planScan(metadata, checked, condition)
    let isEmpty = true
    for await (const batch of scanRows(file, metadata, scan, new Pacer(signal))) {
      isEmpty = false
      yield await toArrowBatch(scan.schema, batch, true)
    }
    if (isEmpty) yield* (await toArrowTable(scan.schema, [])).batches
  } finally {
    await file.close()
  }
}

interface Condition {
  readonly text: string
  readonly parameters: Parameters | undefined
}

function conditionOf({ where, parameters }: ReadParquetOptions): Condition | null {
  if (where === undefined) {
    if (parameters === undefined) return null
    throw invalidInput('readParquet: parameters are not allowed without where')
  }
  if (!isSqlFragment(where)) return { text: where, parameters }
  if (parameters === undefined) return where
  throw invalidInput(
    'readParquet: parameters are not allowed with a fragment of the tag sql, which has its own values',
  )
}

const magic = 'PAR1'
const encryptedMagic = 'PARE'
/** Bytes after the metadata: its length, and the magic text. */
const tailBytes = 8
/** Maximum bytes of the metadata. */
const maxMetadataBytes = 2 ** 28

async function openMetadata(file: RangeFile): Promise<FileMetadata> {
  const { size } = file
  if (size < 4 + tailBytes) throw invalidInput(`not a Parquet file: it has ${size} bytes`)
  const tail = await file.read(size - tailBytes, tailBytes)
  const end = Buffer.from(tail.subarray(4)).toString('latin1')
  if (end === encryptedMagic) throw unsupported('Sheaf does not read encrypted Parquet files')
  if (end !== magic)
    throw invalidInput(`not a Parquet file, or cut off: it does not end with ${magic} (byte ${size})`)
  const length = new DataView(tail.buffer, tail.byteOffset, 4).getUint32(0, true)
  const start = size - tailBytes - length
  if (length === 0 || start < 4 || length > maxMetadataBytes)
    throw brokenParquet(`its metadata has the length ${length}`, size - tailBytes)
  return readMetadata(await file.read(start, length), start)
}

/** The columns and the filter of a scan. */
interface Scan {
  readonly schema: Schema
  readonly filter: BoundExpression | null
  /** The columns that the filter reads. */
  readonly filterPlans: readonly ReadPlan[]
  /** The columns of the answer, in order. */
  readonly plans: readonly ReadPlan[]
  readonly pushdown: Pushdown | null
}

function planScan(metadata: FileMetadata, options: ReadParquetOptions, condition: Condition | null): Scan {
  const recorded = recordedSchema(metadata.pairs)
  const asked = options.schema === undefined ? null : givenSchema(options.schema)
  const known = metadata.root.children.map(({ name }) => name)
  const fields = new Map<string, Field>((recorded?.fields ?? []).map(field => [field.name, field]))
  const stored = new Map(planColumns(metadata.root, fields, false).map(plan => [plan.field.name, plan]))
  const retyped = new Map(stored)
  if (asked !== null) {
    for (const { name } of asked.fields) if (!stored.has(name)) throw columnNotFound(name, known)
    const strict = new Map(asked.fields.map(field => [field.name, field]))
    for (const plan of planColumns(metadata.root, strict, true)) {
      if (strict.has(plan.field.name)) retyped.set(plan.field.name, plan)
    }
  }
  const wanted = options.columns ?? asked?.fields.map(({ name }) => name) ?? known
  const plans = wanted.map(name => {
    const plan = retyped.get(name)
    if (plan === undefined) throw columnNotFound(name, known)
    return plan
  })
  const pairs = asked?.metadata ?? recorded?.metadata
  const schema: Schema = {
    fields: plans.map(({ field }) => field),
    ...(pairs !== undefined && { metadata: pairs }),
  }
  if (condition === null) return { schema, filter: null, filterPlans: [], plans, pushdown: null }
  const all = [...retyped.values()]
  const { text, parameters } = condition
  const filter = bindFilter(text, { fields: all.map(({ field }) => field) }, { parameters })
  const filterPlans = filter.columns.map(name => retyped.get(name)!)
  return { schema, filter, filterPlans, plans, pushdown: new Pushdown(filter, all, metadata) }
}

/**
 * Return the Arrow schema that the writer of the file recorded. Null if there is none, or if it has types that Sheaf does
 * not have.
 */
function recordedSchema(pairs: ReadonlyMap<string, string>): Schema | null {
  const text = pairs.get('ARROW:schema')
  if (text === undefined) return null
  const bytes = new Uint8Array(Buffer.from(text, 'base64'))
  try {
    if (bytes.length < prefixBytes) return null
    const length = decodePrefix(bytes, 0, 0)
    const message = decodeMessage(bytes.subarray(prefixBytes, prefixBytes + length), prefixBytes)
    return message.kind === 'schema' ? message.decoded.schema : null
  } catch (error) {
    if (error instanceof SheafError) return null
    throw error
  }
}

/** Approximate bytes of a batch, and its maximum rows. */
const batchBytes = 8 * 1024 * 1024
const maxBatchRows = 16 * 1024
/** Bytes of all columns together that are read from the file at once. */
const windowBytes = 64 * 1024 * 1024
const maxWindowBytes = 2 * 1024 * 1024

async function* scanRows(
  file: RangeFile,
  metadata: FileMetadata,
  scan: Scan,
  pacer: Pacer,
): AsyncGenerator<Batch> {
  const { filter, filterPlans, plans, pushdown, schema } = scan
  for (const group of metadata.groups) {
    if (group.rows === 0) continue
    await pacer.turn()
    if (pushdown !== null && !pushdown.mayMatch(group)) continue
    const ranges: RowRange[] =
      pushdown === null ? [{ from: 0, to: group.rows }] : await pushdown.ranges(group, file)
    if (ranges.length === 0) continue
    const readers = new GroupReader(file, group, [...filterPlans, ...plans], filter !== null, pacer)
    const perBatch = Math.max(
      1,
      Math.min(maxBatchRows, Math.floor(batchBytes / (group.bytes / group.rows + 1))),
    )
    let row = 0
    for (const { from, to } of ranges) {
      readers.skip(from - row)
      for (row = from; row < to; ) {
        const length = Math.min(perBatch, to - row)
        row += length
        if (filter === null) {
          yield { schema, length, columns: await readers.read(plans, length) }
          continue
        }
        const columns = await readers.read(filterPlans, length)
        const fields = filterPlans.map(({ field }) => field)
        const rows = selectRows(filter, { schema: { fields }, length, columns })
        if (rows.isEmpty()) {
          readers.skip(length, filterPlans)
          continue
        }
        const isFull = rows.isFull()
        const numbers = isFull ? null : rows.toIndices()
        const byPlan = new Map(filterPlans.map((plan, i) => [plan, columns[i]!]))
        const rest = plans.filter(plan => !byPlan.has(plan))
        const others = await readers.read(rest, length)
        rest.forEach((plan, i) => void byPlan.set(plan, others[i]!))
        readers.skip(0)
        const chosen = plans.map(plan => {
          const column = byPlan.get(plan)!
          return numbers === null ? column : takeColumn(column, numbers)
        })
        yield { schema, length: numbers?.length ?? length, columns: chosen }
      }
    }
  }
}

/** Reads columns of one row group. */
class GroupReader {
  readonly #leaves = new Map<LeafPlan, LeafReader | Promise<LeafReader>>()
  readonly #skipped = new Map<LeafPlan, number>()
  readonly #file: RangeFile
  readonly #group: RowGroup
  readonly #pacer: Pacer
  readonly #skips: boolean

  /** `skips`: whether rows will be skipped. */
  constructor(file: RangeFile, group: RowGroup, plans: readonly ReadPlan[], skips: boolean, pacer: Pacer) {
    this.#file = file
    this.#group = group
    this.#pacer = pacer
    this.#skips = skips
    for (const plan of plans) for (const leaf of leavesOf<LeafPlan>(plan)) this.#skipped.set(leaf, 0)
  }

  /** Skip rows of all columns, except of the columns `read`, which were already read. */
  skip(rows: number, read: readonly ReadPlan[] = []): void {
    const done = new Set(read.flatMap(plan => leavesOf<LeafPlan>(plan)))
    for (const [leaf, before] of this.#skipped) if (!done.has(leaf)) this.#skipped.set(leaf, before + rows)
  }

  async read(plans: readonly ReadPlan[], rows: number): Promise<Column[]> {
    const needed = [...new Set(plans.flatMap(plan => leavesOf<LeafPlan>(plan)))]
    const found = new Map<number, LeafRows>()
    await Promise.all(
      needed.map(async plan => {
        const reader = await this.#reader(plan)
        reader.skip(this.#skipped.get(plan)!)
        this.#skipped.set(plan, 0)
        found.set(plan.leaf.leaf, await reader.read(rows))
      }),
    )
    return plans.map(plan => {
      const column = assembleColumn(plan, found)
      if (column.length !== rows)
        throw brokenParquet(`column ${plan.field.name} has ${column.length} of ${rows} rows`)
      return column
    })
  }

  async #reader(plan: LeafPlan): Promise<LeafReader> {
    let reader = this.#leaves.get(plan)
    if (reader === undefined) {
      reader = this.#open(plan)
      this.#leaves.set(plan, reader)
    }
    return reader
  }

  async #open(plan: LeafPlan): Promise<LeafReader> {
    const file = this.#file
    const chunk = this.#group.chunks[plan.leaf.leaf]!
    const places = this.#skips ? await placesOf(chunk, this.#group.rows, file) : null
    const share = Math.min(maxWindowBytes, Math.floor(windowBytes / this.#skipped.size))
    // With known places, only the pages that have rows to read are read.
    const window = places === null ? Math.max(file.readAhead, share) : file.readAhead
    return new LeafReader({ file, plan, chunk, places, windowBytes: window }, this.#pacer)
  }
}
