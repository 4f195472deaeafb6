/**
 * Reads index files of hnswlib: what its `saveIndex` writes, little-endian.
 *
 *     bytes 0-95     header: 12 numbers, see `readHeader`
 *     then           one record per element: links of level 0, vector (float32), label (64 bits)
 *     then           per element: the number of bytes of its links of upper levels (32 bits), and these bytes
 */
import type { Batch, Column } from '../../src/arrow/column.js'
import { type ArrowBatch, toArrowTable } from '../../src/arrow/to-arrow.js'
import type { Schema } from '../../src/arrow/types.js'
import { invalidInput, quote, type SheafError } from '../../src/errors.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { integer, oneOf, options as shape } from '../../src/protocol/shape.js'
import { LocalFile } from '../../src/storage/local-file.js'
import type { ReadOptions } from './source.js'

export interface ReadHnswlibOptions extends ReadOptions {
  /**
   * The space of the index. The file does not contain it. `cosine` checks that the vectors are normalized, as hnswlib
   * stores them; `l2` and `ip` store vectors as they are.
   */
  readonly space?: 'l2' | 'ip' | 'cosine' | undefined
  /** The dimension of the vectors. Default: follows from the size of a record. */
  readonly dim?: number | undefined
}

const dimMax = 65_536
export const readHnswlibShape = shape<ReadHnswlibOptions>()({
  space: oneOf('l2', 'ip', 'cosine'),
  dim: integer(1, dimMax),
  signal: signalShape,
})

const headerBytes = 96
const labelBytes = 8
/** Bytes of a number of links, and of one link. */
const linkBytes = 4
/** The byte of a record with the mark of a deleted element. The first two bytes are the number of links. */
const markByte = 2
/** Maximum bytes of the records of a batch. */
const batchBytes = 1024 * 1024
/** Maximum difference from 1 of the length of a normalized vector. */
const lengthTolerance = 1e-3

interface Header {
  readonly count: number
  readonly stride: number
  readonly dim: number
  readonly vectorAt: number
  readonly labelAt: number
  /** Maximum number of links at level 0. */
  readonly links: number
  /** Bytes of the links of an element at one of the upper levels. */
  readonly upperBytes: number
}

/** The elements of some records that are not deleted. `vectors`: the vectors one after the other. */
interface HnswlibPiece {
  readonly labels: BigUint64Array
  readonly vectors: Float32Array
  readonly dim: number
}

/**
 * Read the elements of an index file of hnswlib on demand: its columns are `id` (the label, uint64) and `vector`
 * (float32). Elements that are marked as deleted are skipped. The file is closed when the iteration ends.
 *
 * An index with the space `cosine` contains normalized vectors, so the original lengths are lost.
 *
 * ```js
 * const docs = await ns.createTable('docs', readHnswlib('hnswlib.index', { space: 'cosine', dim: 384 }))
 * ```
 * @throws InvalidInput for a file that is truncated or broken, or does not fit `space` and `dim`; after the last batch for
 * a label that occurs twice.
 */
export function readHnswlib(path: string, options?: ReadHnswlibOptions): AsyncGenerator<ArrowBatch>
export async function* readHnswlib(
  path: string,
  options: ReadHnswlibOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<ArrowBatch> {
  refuseMore('readHnswlib', 2, more)
  let dim = 1
  let isEmpty = true
  for await (const piece of hnswlibPieces(path, parse(readHnswlibShape, options, 'readHnswlib'))) {
    dim = piece.dim
    if (piece.labels.length === 0) continue
    isEmpty = false
    yield* await arrowBatches(piece)
  }
  if (isEmpty) yield* await arrowBatches({ labels: new BigUint64Array(0), vectors: new Float32Array(0), dim })
}

async function arrowBatches(piece: HnswlibPiece): Promise<readonly ArrowBatch[]> {
  const batch = batchOf(piece)
  return (await toArrowTable(batch.schema, [batch])).batches
}

/**
 * Read the elements in pieces. The first piece may have no elements, so there is always a piece with the dimension.
 * `options` must be checked.
 */
export async function* hnswlibPieces(
  path: string,
  { space, dim, signal }: ReadHnswlibOptions,
): AsyncGenerator<HnswlibPiece> {
  if (typeof path !== 'string') throw invalidInput(`path must be a string, got ${quote(path)}`)
  const pacer = new Pacer(signal)
  const file = await LocalFile.open(path)
  try {
    const header = await readHeader(file, path, dim)
    await checkUpperLinks(file, path, header, pacer)
    const { count, stride } = header
    const perPiece = Math.max(1, Math.floor(batchBytes / stride))
    const labels = new BigUint64Array(count)
    let kept = 0
    yield { labels: new BigUint64Array(0), vectors: new Float32Array(0), dim: header.dim }
    for (let first = 0; first < count; first += perPiece) {
      signal?.throwIfAborted()
      const bytes = await file.read(headerBytes + first * stride, Math.min(perPiece, count - first) * stride)
      const piece = readPiece(bytes, { header, first, path, isNormalized: space === 'cosine' })
      labels.set(piece.labels, kept)
      kept += piece.labels.length
      yield piece
      await pacer.turn()
    }
    checkDistinct(labels.subarray(0, kept), path)
  } finally {
    await file.close()
  }
}

/** Return whether a file with these first bytes is an index file of hnswlib: its records have float32 vectors. */
export function isHnswlibHead(head: Uint8Array): boolean {
  return head.length >= headerBytes && headerOf(head).isLayout
}

/** Return the numbers of the header. `isLayout`: whether they describe records of float32 vectors. */
function headerOf(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, headerBytes)
  const long = (at: number) => Number(view.getBigUint64(at, true))
  const [level0, max, count, stride, labelAt, vectorAt] = [0, 8, 16, 24, 32, 40].map(long)
  const [upperLinks, links] = [56, 64].map(long)
  const vectorBytes = labelAt! - vectorAt!
  const isLayout =
    level0 === 0 &&
    links! >= 1 &&
    vectorAt === linkBytes * (links! + 1) &&
    vectorBytes >= 4 &&
    vectorBytes % 4 === 0 &&
    stride === labelAt! + labelBytes
  return { max, count, stride, labelAt, vectorAt, upperLinks, links, vectorBytes, isLayout }
}

/** Read and check the header. */
async function readHeader(file: LocalFile, path: string, dim: number | undefined): Promise<Header> {
  const broken = (message: string) => brokenFile(path, message)
  if (file.size < headerBytes) throw broken(`it has ${file.size} bytes, but the header has ${headerBytes}`)
  const { max, count, stride, labelAt, vectorAt, upperLinks, links, vectorBytes, isLayout } = headerOf(
    await file.read(0, headerBytes),
  )
  if (!isLayout) {
    throw broken(
      `a record of ${stride} bytes with ${links} links, the vector at byte ${vectorAt} and the label at byte ${labelAt} is not a record of float32 vectors`,
    )
  }
  const found = vectorBytes / 4
  if (dim !== undefined && dim !== found) {
    throw invalidInput(`${quote(path)} contains vectors with dimension ${found}, but dim is ${dim}`, {
      hint: `pass dim: ${found}, or omit it`,
    })
  }
  if (found > dimMax) throw broken(`the dimension ${found} is greater than ${dimMax}`)
  if (count! > max!) throw broken(`it has ${count} elements, but at most ${max} are allowed`)
  if (headerBytes + count! * stride! + count! * linkBytes > file.size) {
    throw broken(`it has ${file.size} bytes, which is too short for ${count} records of ${stride} bytes`)
  }
  return {
    count: count!,
    stride: stride!,
    dim: found,
    vectorAt: vectorAt!,
    labelAt: labelAt!,
    links: links!,
    upperBytes: linkBytes * (upperLinks! + 1),
  }
}

/** Check that the links of the upper levels end where the file ends, as hnswlib does. So a truncated file is refused. */
async function checkUpperLinks(
  file: LocalFile,
  path: string,
  { count, stride, upperBytes }: Header,
  pacer: Pacer,
): Promise<void> {
  let at = headerBytes + count * stride
  let block = new Uint8Array(0)
  let blockAt = at
  for (let element = 0; element < count; element++) {
    if (at + linkBytes > file.size) throw brokenFile(path, `it ends before the links of element ${element}`)
    if (at < blockAt || at + linkBytes > blockAt + block.length) {
      pacer.signal?.throwIfAborted()
      block = new Uint8Array(await file.read(at, Math.min(batchBytes, file.size - at)))
      blockAt = at
    }
    const bytes = new DataView(block.buffer, at - blockAt, linkBytes).getUint32(0, true)
    if (bytes % upperBytes !== 0) {
      throw brokenFile(path, `the links of element ${element} have ${bytes} bytes (byte ${at})`)
    }
    at += linkBytes + bytes
    if (element % 4096 === 0) await pacer.turn()
  }
  if (at !== file.size) throw brokenFile(path, `the links end at byte ${at} of ${file.size}`)
}

function readPiece(
  bytes: Uint8Array,
  given: { header: Header; first: number; path: string; isNormalized: boolean },
): HnswlibPiece {
  const { header, first, path, isNormalized } = given
  const { stride, dim, vectorAt, labelAt, links } = header
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const records = bytes.length / stride
  const labels = new BigUint64Array(records)
  const vectors = new Float32Array(records * dim)
  let kept = 0
  for (let record = 0; record < records; record++) {
    const at = record * stride
    const linked = view.getUint16(at, true)
    if (linked > links) throw brokenFile(path, `element ${first + record} has ${linked} of ${links} links`)
    const mark = view.getUint8(at + markByte)
    if (mark > 1) throw brokenFile(path, `element ${first + record} has the deletion mark ${mark}`)
    if (mark === 1) continue
    let squares = 0
    for (let i = 0; i < dim; i++) {
      const value = view.getFloat32(at + vectorAt + 4 * i, true)
      vectors[kept * dim + i] = value
      squares += value * value
    }
    if (isNormalized && squares !== 0 && !(Math.abs(Math.sqrt(squares) - 1) <= lengthTolerance)) {
      throw invalidInput(
        `${quote(path)} does not fit space 'cosine': the vector of element ${first + record} has the length ${Math.sqrt(squares)}, but hnswlib normalizes vectors of this space`,
        { hint: "pass space: 'l2' or 'ip', or omit it" },
      )
    }
    labels[kept++] = view.getBigUint64(at + labelAt, true)
  }
  return { labels: labels.slice(0, kept), vectors: vectors.slice(0, kept * dim), dim }
}

/** Check that no label occurs twice. Sorts the labels, unless they ascend already. */
function checkDistinct(labels: BigUint64Array, path: string): void {
  const firstPair = () => labels.findIndex((label, i) => i > 0 && label <= labels[i - 1]!)
  if (firstPair() === -1) return
  labels.sort()
  const twice = firstPair()
  if (twice !== -1) throw brokenFile(path, `the label ${labels[twice]} occurs twice`)
}

function batchOf({ labels, vectors, dim }: HnswlibPiece): Batch {
  const item = { name: 'item', type: { kind: 'float', bits: 32 }, nullable: false } as const
  const schema: Schema = {
    fields: [
      { name: 'id', type: { kind: 'int', bits: 64, signed: false }, nullable: false },
      { name: 'vector', type: { kind: 'fixed_size_list', size: dim, child: item }, nullable: false },
    ],
  }
  const none = { nullCount: 0, validity: null, offsets: null, dictionary: null, children: [] }
  const length = labels.length
  const values: Column = { ...none, type: item.type, length: vectors.length, values: vectors }
  const columns: Column[] = [
    { ...none, type: schema.fields[0]!.type, length, values: labels },
    { ...none, type: schema.fields[1]!.type, length, values: null, children: [values] },
  ]
  return { schema, length, columns }
}

function brokenFile(path: string, reason: string): SheafError {
  return invalidInput(`${quote(path)} is not a complete index file of hnswlib: ${reason}`)
}
