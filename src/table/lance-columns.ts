/** Reads columns from data files of Lance tables. */
import type { Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import type { DataType } from '../arrow/types.js'
import { corrupted, invalidInput, quote } from '../errors.js'
import { VectorSegment } from '../kernels/vector-segment.js'
import type { LanceFile } from '../lance/file.js'
import { lazyImport } from '../lazy-import.js'
import type { LanceColumns } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'
import { endOfRun } from '../primitives/is-run.js'
import type { Claim } from '../primitives/memory.js'
import { FarFile } from './lance-blocks.js'
import { type LoadedColumn, loadedColumn } from './loaded-column.js'
import type { TableSource } from './table-source.js'
import { elementKind } from './vector-column.js'

const importFile = lazyImport(() => import('../lance/file.js'))

/**
 * Number of rows of a part. Parts of all files of a fragment have the same rows. Vectors of 2048 numbers of such a part
 * take as much memory as the kernels search in one call.
 */
const partRows = 8192

/** Return the number of rows of each part of a fragment with `rows` rows. */
export function lanceParts(rows: number): readonly number[] {
  return Array.from({ length: Math.ceil(rows / partRows) }, (_, i) => Math.min(partRows, rows - i * partRows))
}

/**
 * Return a key for a column of a file. The key contains the ids of nested fields, because another version of the table
 * may read fewer of them.
 */
export function lanceKey({ fieldsById }: LanceColumns, id: number): string {
  const field = fieldsById.get(id)
  return field === undefined || field.children.length === 0
    ? `${id}`
    : JSON.stringify(field, ['id', 'children'])
}

/**
 * The rows of a fragment to read. `fragmentRows`: all rows of the fragment. `claim`: called with the number of bytes that
 * the column takes.
 */
interface RowRange {
  readonly fragmentRows: number
  readonly from: number
  readonly to: number
  readonly claim: Claim
}

/**
 * Read rows of a column. The elements of vectors are copied into memory that the kernels can search.
 * @throws InvalidInput if the file is damaged. Unsupported if the file or the type cannot be read.
 */
export async function readLanceColumn(
  source: TableSource,
  location: string,
  columns: LanceColumns,
  field: TableField,
  { fragmentRows, from, to, claim }: RowRange,
): Promise<LoadedColumn> {
  const { file, lanceField } = await openColumn(source, location, columns, field, fragmentRows)
  const width = widthOf(field.type)
  if (width !== null) claim(Math.ceil(width * (to - from)))
  let segment: VectorSegment | null = null
  const kind = elementKind(field.type)
  const { size } = field.type as DataType & { readonly size: number }
  const allocate = () => {
    segment = VectorSegment.allocate(kind!, size, to - from)
    return segment.bytes
  }
  const column = await file.readColumn(lanceField, id => columns.columns.get(id), from, to, {
    allocate: kind === null ? null : allocate,
  })
  return inKernelMemory(column, segment)
}

/**
 * Read rows of a column of vectors into memory that no other code uses.
 * @throws the errors of `readLanceColumn`.
 */
export async function readLanceVectors(
  source: TableSource,
  location: string,
  columns: LanceColumns,
  field: TableField,
  { fragmentRows, from, to }: Omit<RowRange, 'claim'>,
): Promise<Column> {
  const { file, lanceField } = await openColumn(source, location, columns, field, fragmentRows)
  const allocate = (bytes: number) => new Uint8Array(bytes)
  return file.readColumn(lanceField, id => columns.columns.get(id), from, to, { allocate })
}

/** Minimum bytes of a value of a fixed width from which on the rows of a file are at places of their own (FullZip). */
const ownPlaceBytes = 256
/** Bytes of a value of which only the type is known. */
const typicalBytes = 128

/**
 * Return about how many bytes a read of one row takes. Null: the rows of the column are not read one by one, because the
 * column is small, or because each read would read a whole page (version 2.0).
 */
export function lanceRowBytes({ version }: LanceColumns, { type }: TableField): number | null {
  const width = widthOf(type)
  if (width === null) return version === '2.0' ? null : typicalBytes
  return width < ownPlaceBytes ? null : width
}

/**
 * Read single rows of a column. `rows`: their numbers in the file, in any order. `fragmentRows`: all rows of the fragment.
 * @throws the errors of `readLanceColumn`.
 */
export async function readLanceRows(
  source: TableSource,
  location: string,
  columns: LanceColumns,
  field: TableField,
  { fragmentRows, rows }: { readonly fragmentRows: number; readonly rows: Uint32Array },
): Promise<Column> {
  const { file, lanceField } = await openColumn(source, location, columns, field, fragmentRows)
  const reads: Promise<Column>[] = []
  for (let from = 0, to = 0; from < rows.length; from = to) {
    to = endOfRun(rows, from)
    const start = rows[from]!
    reads.push(file.readColumn(lanceField, id => columns.columns.get(id), start, start + to - from))
  }
  return concatColumns(await Promise.all(reads))
}

async function openColumn(
  source: TableSource,
  location: string,
  columns: LanceColumns,
  field: TableField,
  fragmentRows: number,
) {
  const path = `${location}/${columns.lance}`
  const file = await source.lanceFiles.get(path, () => openLance(source, path, columns.bytes))
  if (file.rows !== fragmentRows)
    throw invalidInput(`${path} has ${file.rows} rows, but the manifest says ${fragmentRows}`)
  const lanceField = columns.fieldsById.get(field.id)
  if (lanceField === undefined) throw invalidInput(`${path} has no column ${quote(field.name)}`)
  return { file, lanceField }
}

/** Open a file. `bytes`: its size; 0 if it is unknown. */
export async function openLance(
  source: Pick<TableSource, 'store' | 'memory' | 'lanceBlocks'>,
  path: string,
  bytes: number,
): Promise<LanceFile> {
  const { store } = source
  const { openLanceFile } = await importFile()
  const size = bytes > 0 ? bytes : (await store.stat(path))?.size
  if (size === undefined) throw corrupted(`${path} is missing`)
  // Each request to object storage takes long, so few requests read many bytes.
  if (store.replace !== undefined) return openLanceFile(new FarFile(source, path, size), path)
  return openLanceFile(
    {
      bytes: size,
      read: (start, end, signal) => store.getRange(path, start, end - start, signal),
      readInto: (start, target, signal) => store.readInto(path, start, target, signal),
    },
    path,
  )
}

/**
 * Copy the elements of vectors into memory that the kernels can search, if they are not there yet. Returns other columns
 * unchanged. `target`: the memory that the reader of the file got.
 */
function inKernelMemory(column: Column, target: VectorSegment | null): LoadedColumn {
  const kind = elementKind(column.type)
  if (kind === null || column.type.kind !== 'fixed_size_list' || column.length === 0)
    return loadedColumn(column)
  const { size } = column.type
  const [elements] = column.children
  if (elements === undefined || size === 0) return loadedColumn(column)
  const values = elements.values as Float32Array | Uint8Array
  const segment = target ?? VectorSegment.allocate(kind, size, column.length)
  const isThere = values.buffer === segment.values.buffer && values.byteOffset === 0
  if (!isThere) segment.values.set(values.subarray(0, size * column.length))
  return loadedColumn({ ...column, children: [{ ...elements, values: segment.values }] }, segment)
}

/** Return the bytes per row of a type whose rows are equally long. Return null for other types. */
function widthOf(type: DataType): number | null {
  switch (type.kind) {
    case 'bool':
      return 1 / 8
    case 'int':
    case 'float':
    case 'decimal':
      return type.bits / 8
    case 'fixed_size_binary':
      return type.width
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration':
      return 8
    case 'fixed_size_list': {
      const element = widthOf(type.child.type)
      return element === null ? null : type.size * element
    }
    default:
      return null
  }
}
