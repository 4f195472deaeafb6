/**
 * Opens data files of Lance 2.0, 2.1 and 2.2 and reads their columns
 * (https://lance.org/format/file). A file has pages, which contain rows of one column, and metadata at its end.
 */
import type { Column } from '../arrow/column.js'
import { emptyColumn } from '../arrow/fill.js'
import { invalidInput, quote, SheafError, unsupported } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import { type ColumnMetadata, readColumnMetadata } from './column-metadata.js'
import { isPacked } from './column-tree.js'
import type { ByteRange } from './page.js'
import { MessageReader } from './protobuf.js'
import { type LanceBytes, readExactly, readRangeInto, readRanges } from './range-reader.js'
import { readLeveledColumn } from './read-leveled-column.js'
import { readPlainColumn } from './read-plain-column.js'
import { arrowField, type LanceField, type LanceSchema, readLanceSchema } from './schema.js'

/** A version of the file format. */
type LanceFileVersion = '2.0' | '2.1' | '2.2'

/** Bytes at the end of a file that are read first. */
const tailBytes = 64 * 1024
const footerBytes = 40

/** Open a file. `path`: the name of the file, for messages. */
export async function openLanceFile(
  source: LanceBytes,
  path: string,
  signal?: AbortSignal,
): Promise<LanceFile> {
  return named(path, async () => {
    if (source.bytes < footerBytes) throw invalidInput(`a file of ${source.bytes} bytes is not a Lance file`)
    const start = Math.max(0, source.bytes - tailBytes)
    const tail = await readExactly(source, start, source.bytes, signal)
    const withTail = new TailedBytes(source, start, tail)
    const footer = readFooter(tail.subarray(tail.length - footerBytes))
    const { bytes } = source
    if (footer.columnTable > bytes || footer.bufferTable > bytes) throw invalidInput('the footer is damaged')
    const [columnTable, bufferTable] = await readRanges(
      withTail,
      [
        { start: footer.columnTable, end: footer.columnTable + 16 * footer.columns },
        { start: footer.bufferTable, end: footer.bufferTable + 16 * footer.buffers },
      ],
      signal,
    )
    const buffers = readTable(bufferTable!)
    const [descriptorRange] = buffers
    if (descriptorRange === undefined) {
      throw unsupported('the file has no schema', { hint: 'rewrite the table with LanceDB' })
    }
    const [descriptor] = await readRanges(withTail, [descriptorRange], signal)
    const { schema, rows } = readDescriptor(new MessageReader(descriptor!))
    const ranges = { columns: readTable(columnTable!), buffers }
    return new LanceFile(withTail, path, footer.version, schema, rows, ranges)
  })
}

interface ReadColumnOptions {
  readonly signal?: AbortSignal | undefined
  readonly allocate?: ((bytes: number) => Uint8Array) | null
}

/** The places of the metadata of each column, and of the global buffers. */
interface FileRanges {
  readonly columns: readonly ByteRange[]
  readonly buffers: readonly ByteRange[]
}

/** An opened file. */
export class LanceFile {
  readonly version: LanceFileVersion
  readonly rows: number
  readonly schema: LanceSchema
  readonly #source: LanceBytes
  readonly #path: string
  readonly #ranges: FileRanges
  readonly #metadata = new Map<number, Promise<ColumnMetadata>>()

  constructor(
    source: LanceBytes,
    path: string,
    version: LanceFileVersion,
    schema: LanceSchema,
    rows: number,
    ranges: FileRanges,
  ) {
    this.#source = source
    this.#path = path
    this.version = version
    this.schema = schema
    this.rows = rows
    this.#ranges = ranges
  }

  /** Return the number of columns in the file. A nested column of the schema is several columns of the file. */
  get columns(): number {
    return this.#ranges.columns.length
  }

  /**
   * Return the column of each field id, as a writer numbers them without a manifest: all leaves in order, and in version
   * 2.0 all fields.
   */
  columnIds(): ReadonlyMap<number, number> {
    const ids = new Map<number, number>()
    const walk = (field: LanceField): void => {
      const isLeaf = field.children.length === 0 || isPacked(field)
      if (isLeaf || this.version === '2.0') ids.set(field.id, ids.size)
      if (!isLeaf) for (const child of field.children) walk(child)
    }
    for (const field of this.schema.fields) walk(field)
    return ids
  }

  /**
   * Read rows `from` to before `to` of a column of the schema. `columnOf`: the column of the file by field id.
   * `allocate`: returns memory for the elements of a column of vectors. The column has its elements there if its pages have
   * them without an encoding, and no null.
   * @throws InvalidInput if the file is damaged, or does not have the rows or the column.
   */
  async readColumn(
    field: LanceField,
    columnOf: (fieldId: number) => number | undefined,
    from: number,
    to: number,
    { signal, allocate = null }: ReadColumnOptions = {},
  ): Promise<Column> {
    return named(`${this.#path}, column ${quote(field.name)}`, async () => {
      if (
        !(
          Number.isSafeInteger(from) &&
          Number.isSafeInteger(to) &&
          from >= 0 &&
          from <= to &&
          to <= this.rows
        )
      ) {
        throw invalidInput(`the rows ${from} to ${to} are not within the ${this.rows} rows of the file`)
      }
      if (to - from > 0x7fffffff) {
        throw invalidInput(`at most 2147483647 rows can be read at a time, got ${to - from}`)
      }
      const { type } = arrowField(field)
      if (from === to) return emptyColumn(type)
      const pacer = new Pacer(signal)
      const read = this.version === '2.0' ? readPlainColumn : readLeveledColumn
      return read(field, from, to, {
        pacer,
        metadataOf: id => this.#metadataOf(id, columnOf(id), signal),
        allocate,
        read: ranges => readRanges(this.#source, ranges, signal),
        readInto: (range, target) => readRangeInto(this.#source, range, target, signal),
      })
    })
  }

  /**
   * Read a global buffer. Buffer 0 has the schema of the file.
   * @throws InvalidInput if the file does not have the buffer.
   */
  async readBuffer(number: number, signal?: AbortSignal): Promise<Uint8Array> {
    return named(this.#path, async () => {
      const range = this.#ranges.buffers[number]
      if (range === undefined)
        throw invalidInput(`the file has ${this.#ranges.buffers.length} buffers, but not buffer ${number}`)
      const [bytes] = await readRanges(this.#source, [range], signal)
      return bytes!
    })
  }

  async #metadataOf(
    fieldId: number,
    column: number | undefined,
    signal?: AbortSignal,
  ): Promise<ColumnMetadata> {
    const range = column === undefined ? undefined : this.#ranges.columns[column]
    if (column === undefined || range === undefined) {
      throw invalidInput(
        `field ${fieldId} has the column ${column}, but the file has ${this.columns} columns`,
      )
    }
    const known = this.#metadata.get(column)
    if (known !== undefined) return known
    const [bytes] = await readRanges(this.#source, [range], signal)
    const metadata = readColumnMetadata(new MessageReader(bytes!))
    checkPages(metadata, this.#source.bytes)
    this.#metadata.set(column, Promise.resolve(metadata))
    return metadata
  }
}

/** Check that the pages of a column do not share bytes. Otherwise, reading them takes many times the size of the file. */
function checkPages({ pages }: ColumnMetadata, fileBytes: number): void {
  let bytes = 0
  for (const { buffers } of pages) for (const { start, end } of buffers) bytes += end - start
  if (bytes > fileBytes)
    throw invalidInput(`the pages of a column have ${bytes} bytes, but the file has ${fileBytes}`)
}

/** Add a name to the messages of errors of a file. */
async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // V8 refuses memory for the number of values that the file announces.
    if (error instanceof RangeError && /allocation failed|typed array length/.test(error.message)) {
      throw invalidInput(`${name}: ${error.message}`, { hint: 'read fewer rows at a time', cause: error })
    }
    if (!(error instanceof SheafError)) throw error
    const { code, status, kind, hint } = error
    throw new SheafError(code, `${name}: ${error.message}`, { status, kind, hint, cause: error })
  }
}

/** A file whose last bytes are in memory. */
class TailedBytes implements LanceBytes {
  readonly bytes: number
  readonly #source: LanceBytes
  readonly #start: number
  readonly #tail: Uint8Array

  constructor(source: LanceBytes, start: number, tail: Uint8Array) {
    this.bytes = source.bytes
    this.#source = source
    this.#start = start
    this.#tail = tail
  }

  async read(start: number, end: number, signal?: AbortSignal): Promise<Uint8Array> {
    if (start < this.#start) return this.#source.read(start, end, signal)
    return this.#tail.subarray(start - this.#start, end - this.#start)
  }

  async readInto(start: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    if (start < this.#start) return this.#source.readInto(start, target, signal)
    target.set(this.#tail.subarray(start - this.#start, start - this.#start + target.length))
  }
}

interface Footer {
  readonly columnTable: number
  readonly bufferTable: number
  readonly buffers: number
  readonly columns: number
  readonly version: LanceFileVersion
}

function readFooter(bytes: Uint8Array): Footer {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(36, true) !== 0x434e414c) throw invalidInput('the file does not end with LANC')
  return {
    version: readVersion(view.getUint16(32, true), view.getUint16(34, true)),
    columnTable: readPosition(view, 8),
    bufferTable: readPosition(view, 16),
    buffers: view.getUint32(24, true),
    columns: view.getUint32(28, true),
  }
}

function readVersion(major: number, minor: number): LanceFileVersion {
  // Writers of version 2.0 store 0.3.
  if ((major === 0 && minor === 3) || (major === 2 && minor === 0)) return '2.0'
  if (major === 2 && minor === 1) return '2.1'
  if (major === 2 && minor === 2) return '2.2'
  const isOld = major === 0 && minor <= 2
  throw unsupported(
    `the file has version ${isOld ? '0.1' : `${major}.${minor}`} of the Lance file format; Sheaf reads 2.0, 2.1 and 2.2`,
    {
      hint: isOld
        ? 'copy the table with LanceDB into a table with dataStorageVersion "stable"'
        : 'copy the table with LanceDB into a table with dataStorageVersion "2.2"',
    },
  )
}

function readPosition(view: DataView, at: number): number {
  return view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true)
}

/** Read positions and sizes. */
function readTable(bytes: Uint8Array): ByteRange[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: Math.floor(bytes.length / 16) }, (_, i) => {
    const start = readPosition(view, 16 * i)
    return { start, end: start + readPosition(view, 16 * i + 8) }
  })
}

/** Read the message `FileDescriptor`. */
function readDescriptor(message: MessageReader): { readonly schema: LanceSchema; readonly rows: number } {
  let schema: LanceSchema = { fields: [], metadata: {} }
  let rows = 0
  while (message.next()) {
    if (message.field === 1) schema = readLanceSchema(message.message())
    else if (message.field === 2) rows = message.count()
    else message.skip()
  }
  return { schema, rows }
}
