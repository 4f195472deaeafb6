/**
 * A part of a vector column, in memory that the kernel can search. The caller reads the bytes of the rows from disk
 * directly into `bytes`; a search copies none of them.
 *
 * - Rows are stored as in Arrow's FixedSizeList: `dim` elements each, without padding.
 * - The memory never grows or moves: views stay valid for the life of the segment.
 * - After the rows comes scratch of the segment's own, so that two segments never disturb each other. A segment runs
 *   one search at a time; searches are synchronous, so no lock is needed.
 * - Several threads may share the rows. Then each thread has a segment of its own over the same memory, with its own
 *   scratch in this memory.
 */
import { assert, ErrorCode, SheafError } from '../errors.js'
import { type Kernel, openKernel, openSharedMemory, type SharedMemory, sharedKernelOn } from './kernel.js'

/** The elements of rows. Queries are always float32. */
export type ElementKind = 'f32' | 'u8'

/** `rows` vectors of `dim` elements, contiguous, without padding. */
export interface VectorRows {
  readonly kind: ElementKind
  readonly dim: number
  readonly rows: number
  readonly values: Float32Array | Uint8Array
}

/** Bytes of rows per segment of a column, so that one search takes milliseconds. */
export const segmentBytes = 64 * 1024 * 1024

/** Smaller segments stay on the ordinary heap: an instance and its address space cost more than they save. In bytes. */
const kernelBytes = 16 * 1024

/** The most elements of a row that the kernel accepts: sums of squared bytes must fit 32 bits. */
const kernelDim = 65_536

/** Rows measured in one step. Must equal BLOCK_ROWS of `wasm/exact.ts`. */
export const blockRows = 1024

/** The most rows that a heap in the scratch can hold. Searches for more rows sort all distances. */
const maxHeapRows = 65_536

/** Addresses in the memory of a segment, in bytes from its start. Rows are at 0. */
export interface Scratch {
  readonly kernel: Kernel
  readonly buffer: ArrayBufferLike
  /** `blockRows` u32s. */
  readonly list: number
  /** `blockRows` f32s. */
  readonly distances: number
  /** The query, padded with zeros to a multiple of 16 elements. The masks are before it. */
  readonly query: number
  /** One bit per row. */
  readonly bits: number
  /** `heapRows` u64s. */
  readonly heap: number
  readonly heapRows: number
}

/** Rows of a vector column that can be searched. */
export class VectorSegment implements VectorRows {
  readonly kind: ElementKind
  readonly dim: number
  readonly rows: number
  /** The bytes of the rows, initially zeros. The caller writes them. */
  readonly bytes: Uint8Array
  /** The same memory as elements. */
  readonly values: Float32Array | Uint8Array
  /** All memory of the segment, including scratch, for budgets. In bytes. */
  readonly byteLength: number
  /** Null: the segment is on the ordinary heap, and the plain loops search it. */
  readonly scratch: Scratch | null

  private constructor(
    kind: ElementKind,
    dim: number,
    rows: number,
    buffer: ArrayBufferLike,
    scratch: Scratch | null,
  ) {
    this.kind = kind
    this.dim = dim
    this.rows = rows
    this.bytes = new Uint8Array(buffer, 0, rows * strideOf(kind, dim))
    this.values = kind === 'f32' ? new Float32Array(buffer, 0, rows * dim) : this.bytes
    this.byteLength = buffer.byteLength
    this.scratch = scratch
  }

  /**
   * Allocate a segment for `rows` rows. The kernel searches segments of `kernelFrom` to `segmentBytes` bytes on hosts
   * with WebAssembly SIMD. The plain loops search all others, with the same results. Throws `ServiceUnavailable` if
   * there is no memory.
   */
  static allocate(kind: ElementKind, dim: number, rows: number, kernelFrom = kernelBytes): VectorSegment {
    const rowBytes = rowBytesOf(kind, dim, rows)
    if (isForKernel(rowBytes, dim, kernelFrom)) {
      const layout = layOut(rowBytes, dim, rows)
      const memory = openKernel(layout.end)
      if (memory !== null) {
        return new VectorSegment(kind, dim, rows, memory.buffer, ready({ ...layout, ...memory }))
      }
    }
    return new VectorSegment(kind, dim, rows, heapBuffer(rowBytes, ArrayBuffer), null)
  }

  /** Create a segment over the rows at the start of memory of `openShared`, for the thread with this worker index. */
  static attach(
    memory: SharedMemory | SharedArrayBuffer,
    { kind, dim, rows }: Omit<VectorRows, 'values'>,
    workerIndex: number,
  ): VectorSegment {
    if (memory instanceof SharedArrayBuffer) return new VectorSegment(kind, dim, rows, memory, null)
    const { buffer } = memory
    const layout = layOut(rowBytesOf(kind, dim, rows), dim, rows, workerIndex)
    const kernel = sharedKernelOn(memory)
    return new VectorSegment(kind, dim, rows, buffer, ready({ ...layout, buffer, kernel }))
  }
}

/**
 * Allocate memory for rows that `workers` threads search, each through a segment of its own (`VectorSegment.attach`),
 * plus `more` bytes at the end. The rows are at the start, initially zeros. Throws `ServiceUnavailable` if there is no
 * memory.
 */
export function openShared(
  { kind, dim, rows }: Omit<VectorRows, 'values'>,
  workers: number,
  more: number,
): SharedMemory | SharedArrayBuffer {
  const rowBytes = rowBytesOf(kind, dim, rows)
  const layout = layOut(rowBytes, dim, rows, workers - 1)
  const memory = isForKernel(rowBytes, dim, kernelBytes) ? openSharedMemory(layout.end + more) : null
  return memory ?? heapBuffer(rowBytes + more, SharedArrayBuffer)
}

function rowBytesOf(kind: ElementKind, dim: number, rows: number): number {
  const rowBytes = rows * strideOf(kind, dim)
  assert(dim >= 0 && rows >= 0 && Number.isSafeInteger(rowBytes), `${rows} vectors of ${dim} dimensions`)
  return rowBytes
}

function isForKernel(rowBytes: number, dim: number, kernelFrom: number): boolean {
  return rowBytes >= kernelFrom && rowBytes <= segmentBytes && dim <= kernelDim
}

function ready(scratch: Scratch): Scratch {
  new Uint8Array(scratch.buffer, scratch.query - 128, 64).fill(0xff)
  return scratch
}

function strideOf(kind: ElementKind, dim: number): number {
  return kind === 'f32' ? dim * 4 : dim
}

/**
 * Assign addresses. The list and the distances come first: the kernel reads a little past the last row, and must not
 * reach the end of memory. Masks are 64 bytes of ones, then 64 bytes of zeros, directly before the query. If threads
 * share the rows, their scratch areas follow each other.
 */
function layOut(rowBytes: number, dim: number, rows: number, workerIndex = 0) {
  const first = roundUp(rowBytes, 64)
  const one = layScratch(first, dim, rows)
  return workerIndex === 0 ? one : layScratch(first + workerIndex * roundUp(one.end - first, 64), dim, rows)
}

function layScratch(list: number, dim: number, rows: number) {
  const distances = list + blockRows * 4
  const query = distances + blockRows * 4 + 128
  const bits = query + roundUp(dim, 16) * 4
  const heap = roundUp(bits + Math.ceil(rows / 32) * 4, 8)
  const heapRows = Math.min(rows, maxHeapRows)
  return { list, distances, query, bits, heap, heapRows, end: heap + heapRows * 8 }
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit
}

function heapBuffer<B extends ArrayBufferLike>(bytes: number, Kind: new (bytes: number) => B): B {
  try {
    return new Kind(bytes)
  } catch (cause) {
    throw new SheafError(ErrorCode.ServiceUnavailable, `no memory for ${bytes} bytes of vectors`, { cause })
  }
}
