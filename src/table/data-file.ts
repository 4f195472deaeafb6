/** Reads footers and columns of data files, and checks all bytes against their checksums. */
import type { Column } from '../arrow/column.js'
import type { ColumnRange, DictionaryRange } from '../arrow/file-layout.js'
import { assembleColumn, type FileLayout, parseFileFooter } from '../arrow/file-reader.js'
import type { Field } from '../arrow/types.js'
import { corrupted } from '../errors.js'
import { openShared, type VectorRows, VectorSegment } from '../kernels/vector-segment.js'
import type { StoredFile } from '../manifest/layout.js'
import type { StoredRuns } from '../manifest/stored-runs.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Claim, Keeper, Load } from '../primitives/memory.js'
import { type MaybePromise, runTask, type Task, wait } from '../primitives/task.js'
import type { BlobStore } from '../storage/blob-store.js'
import { type LoadedColumn, loadedColumn } from './loaded-column.js'
import { type Shareable, type Sharing, sharedBytes, sharedFrom } from './sharing.js'
import { elementKind } from './vector-column.js'
import { type CheckedRange, inFile, readTail, readVerified } from './verified-range.js'

/** The store to read from, and the data that engines in other threads share. */
interface Readable {
  readonly store: BlobStore
  readonly sharing?: Sharing | undefined
}

/** A store with a cache of dictionaries. All record batches of a file share its dictionaries. */
interface ReadableColumns extends Readable {
  readonly dictionaries: Keeper<Column>
}

/**
 * Read the footer of a data file. Throws Internal ("corrupted") if the file is missing, shorter than recorded, or does
 * not have the recorded checksum.
 */
export function readFooter(
  store: BlobStore,
  path: string,
  { bytes, crc }: Pick<StoredFile, 'bytes' | 'crc'>,
): Promise<FileLayout> {
  return readTail(store, path, bytes, tail => parseFileFooter(tail, bytes, crc))
}

/**
 * Read all bytes of a small file. Throws Internal ("corrupted") if the file is missing, or does not have the recorded
 * size and checksum.
 */
export async function readWhole(
  store: BlobStore,
  path: string,
  { bytes, crc }: StoredRuns,
): Promise<Uint8Array> {
  const read = await store.get(path)
  if (read === null) throw corrupted(`${path} is missing`)
  const found = crc32(read)
  if (read.length === bytes && found === crc) return read
  throw corrupted(
    `${path} has ${read.length} bytes with checksum ${crcHex(found)}, expected ${bytes} bytes with ${crcHex(crc)}`,
  )
}

/** Return the number of bytes to read for a column, its dictionaries included. */
export function bytesToRead({ bytes, dictionaries }: ColumnRange): number {
  return dictionaries.reduce((sum, { range }) => sum + range.bytes, bytes)
}

/** The location of one column of one record batch in a file. */
interface ColumnAddress {
  readonly path: string
  readonly layout: FileLayout
  readonly batch: number
  readonly column: number
  readonly field: Field
}

/**
 * Read one column of one record batch. The elements of a vector column are read directly into memory of the kernels.
 * Calls `claim` with the number of bytes that the column will take.
 */
export async function readColumn(
  source: ReadableColumns,
  { path, layout, batch, column, field }: ColumnAddress,
  claim: Claim,
): Promise<LoadedColumn> {
  const range = layout.batches[batch]?.columns[column]
  if (range === undefined) throw corrupted(`${path} has no column ${column} in batch ${batch}`)
  claim(bytesToRead(range))
  const dictionaries = await readDictionaries(source, path, range)
  const kind = elementKind(field.type)
  if (range.cells !== null && kind !== null && field.type.kind === 'fixed_size_list') {
    const shape = { kind, dim: field.type.size, rows: range.nodes[0]! }
    const { head, segment } = await readVectors(source, path, range, range.cells.offset, shape)
    const options = { cells: segment.bytes, dictionaries, verified: true }
    return loadedColumn(
      inFile(path, () => assembleColumn(field, range, head, options)),
      segment,
    )
  }
  const bytes = await readRange(source, path, range)
  return loadedColumn(
    inFile(path, () => assembleColumn(field, range, bytes, { dictionaries, verified: true })),
  )
}

/** Read the dictionaries that a column needs. Returns their values, by dictionary id. */
export function readDictionaries(
  source: ReadableColumns,
  path: string,
  range: ColumnRange,
): MaybePromise<ReadonlyMap<number, Column>> {
  return range.dictionaries.length === 0 ? noDictionaries : runTask(dictionariesOf(source, path, range))
}

const noDictionaries: ReadonlyMap<number, Column> = new Map()

function* dictionariesOf(
  source: ReadableColumns,
  path: string,
  range: ColumnRange,
): Task<ReadonlyMap<number, Column>> {
  const dictionaries = new Map<number, Column>()
  for (const each of range.dictionaries) {
    dictionaries.set(each.id, yield* wait(readDictionary(source, path, each, dictionaries)))
  }
  return dictionaries
}

/** Read the values of a dictionary. `inner`: by id, the dictionaries that the values themselves refer to. */
function readDictionary(
  source: ReadableColumns,
  path: string,
  { id, field, range }: DictionaryRange,
  inner: ReadonlyMap<number, Column>,
): MaybePromise<Column> {
  const load: Load<Column> = async claim => {
    claim(range.bytes)
    const bytes = await readRange(source, path, range)
    return inFile(path, () => assembleColumn(field, range, bytes, { dictionaries: inner, verified: true }))
  }
  return source.dictionaries.get(`${path}/dictionary/${id}`, load, path)
}

/**
 * Read a vector column. Returns `head`, the bytes before the elements, and `segment`, the elements in memory that the
 * kernels can read.
 */
async function readVectors(
  { store, sharing }: Readable,
  path: string,
  range: ColumnRange,
  headBytes: number,
  shape: Omit<VectorRows, 'values'>,
): Promise<{ readonly head: Uint8Array; readonly segment: VectorSegment }> {
  if (sharing === undefined || range.bytes < sharedFrom) {
    const head = new Uint8Array(headBytes)
    const segment = VectorSegment.allocate(shape.kind, shape.dim, shape.rows)
    await readVerified(store, path, range, [head, segment.bytes])
    return { head, segment }
  }
  const { workerCount, workerIndex } = sharing
  const seen = (memory: Shareable) => {
    const segment = VectorSegment.attach(memory, shape, workerIndex)
    const { byteLength } = segment
    return { head: new Uint8Array(segment.bytes.buffer, byteLength - headBytes, headBytes), segment }
  }
  const memory = await sharing.once(keyOf(path, range), async () => {
    const opened = openShared(shape, workerCount, headBytes)
    const { head, segment } = seen(opened)
    await readVerified(store, path, range, [head, segment.bytes])
    return opened
  })
  return seen(memory)
}

/** Read and check a byte range of a file. Throws Internal ("corrupted") if its checksum differs. */
export function readRange(
  { store, sharing }: Readable,
  path: string,
  range: CheckedRange,
): Promise<Uint8Array> {
  return sharedBytes(sharing, keyOf(path, range), range.bytes, bytes =>
    readVerified(store, path, range, [bytes]),
  )
}

function keyOf(path: string, { start }: CheckedRange): string {
  return `${path}/${start}`
}
