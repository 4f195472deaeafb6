/**
 * Holds some vectors of a column in memory that the kernel can search. The caller reads the bytes of the rows from disk
 * directly into `bytes`, so that no search copies them.
 *
 * - Rows are stored as in Arrow's FixedSizeList: `dim` elements per row, without padding.
 * - The memory never grows or moves, so views of it stay valid.
 * - The scratch of a segment is in the same memory, after the rows. Searches are synchronous, so a segment runs only
 *   one search at a time and needs no lock.
 * - Several threads may share the rows. Then each thread has its own segment over the same memory, with its own scratch
 *   in it.
 */
import { assert, ErrorCode, SheafError } from '../errors.js'
import { type Kernel, openKernel, openSharedMemory, type SharedMemory, sharedKernelOn } from './kernel.js'

/** The type of the elements of rows. Queries are always float32. */
export type ElementKind = 'f32' | 'u8'

/** Vectors in memory. */
export interface VectorRows {
  readonly kind: ElementKind
  /** Number of elements of a vector. */
  readonly dim: number
  /** Number of vectors. */
  readonly rows: number
  /** The elements of all vectors, one vector after the other, without padding. */
  readonly values: Float32Array | Uint8Array
}

/** Maximum bytes of the rows of a segment, so that a search takes a few milliseconds. */
export const segmentBytes = 64 * 1024 * 1024

/**
 * Minimum bytes of the rows of a segment that the kernel searches. For smaller segments, an instance and its address
 * space cost more than the kernel saves.
 */
const kernelBytes = 16 * 1024

/** Maximum number of elements of a row that the kernel accepts, because its sums of squared bytes have 32 bits. */
const kernelDim = 65_536

/** Number of rows that the kernel measures in one step. Must equal BLOCK_ROWS of `wasm/exact.ts`. */
export const blockRows = 1024

/**
 * Maximum number of rows of the heap in the scratch. Searches for more rows measure all rows and choose the nearest in
 * TypeScript.
 */
const maxHeapRows = 65_536

/** The kernel of a segment, and addresses in its memory. The rows are at address 0. */
export interface Scratch {
  readonly kernel: Kernel
  readonly buffer: ArrayBufferLike
  /** Address of the ordinals of rows to measure: `blockRows` u32s. */
  readonly list: number
  /** Address of measured distances: `blockRows` f32s. */
  readonly distances: number
  /**
   * Address of the query, which is padded with zeros to a multiple of 16 elements. The masks are before it, see
   * `layOut`.
   */
  readonly query: number
  /** Address of the allowed rows: one bit per row. */
  readonly bits: number
  /** Address of the heap: `heapRows` u64s. */
  readonly heap: number
  /** Maximum number of rows in the heap. */
  readonly heapRows: number
}

/** Rows of a vector column that can be searched. */
export class VectorSegment implements VectorRows {
  readonly kind: ElementKind
  readonly dim: number
  readonly rows: number
  /** The bytes of the rows, initially zeros. The caller writes them. */
  readonly bytes: Uint8Array
  /** The elements of the rows, in the same memory as `bytes`. */
  readonly values: Float32Array | Uint8Array
  /** Bytes of the whole memory of the segment, including scratch. The cache counts them. */
  readonly byteLength: number
  /** The kernel and its addresses. Null: the plain loops search the segment. */
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
   * Allocate a segment for `rows` rows. On hosts with WebAssembly SIMD, the kernel searches segments of `kernelFrom`
   * (default 16 KiB) to `segmentBytes` bytes. The plain loops search all other segments, with the same results. Throws
   * `ServiceUnavailable` if the memory cannot be allocated.
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

  /**
   * Create a thread's segment over the rows at the start of memory that `openShared` returned. `workerIndex`: number of
   * the thread among the threads that share the memory.
   */
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
 * Allocate memory for rows that `workers` threads search, each with its own segment (`VectorSegment.attach`). The rows
 * are at the start, initially zeros. `more`: additional bytes at the end. Throws `ServiceUnavailable` if the memory
 * cannot be allocated.
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
 * Assign addresses. The list and the distances are directly after the rows. So the kernel can read a little past the
 * last row without reaching the end of the memory. Directly before the query there are masks: 64 bytes with all bits
 * set, then 64 zero bytes. If threads share the rows, the scratch of each thread follows that of the thread before it.
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
