/**
 * A stretch of a vector column in memory the kernel can search. The owner reads the rows' bytes straight from
 * disk into `bytes`; searching copies none of them.
 *
 * - Rows lie as Arrow's FixedSizeList stores them, `dim` elements each, without padding.
 * - The memory never grows or moves: views stay good for the segment's life.
 * - Behind the rows lies scratch of the segment's own, so that two segments never disturb each other. One
 *   search at a time per segment; searches are synchronous, so that needs no lock.
 * - Several threads may have the rows in common. Each then has a segment of its own over the same memory, with scratch in it that
 *   is its alone.
 */
import { assert, ErrorCode, SheafError } from '../errors.js'
import { type Kernel, openKernel, openSharedMemory, type SharedMemory, sharedKernelOn } from './kernel.js'

/** What rows are made of; queries are always float32. */
export type ElementKind = 'f32' | 'u8'

/** `rows` vectors of `dim` elements, one after the other without padding. */
export interface VectorRows {
  readonly kind: ElementKind
  readonly dim: number
  readonly rows: number
  readonly values: Float32Array | Uint8Array
}

/** Bytes of rows that a column is cut into, so that one search takes milliseconds. */
export const segmentBytes = 64 * 1024 * 1024

/** Smaller segments stay on the ordinary heap: an instance and its address space cost more than they save. */
const kernelBytes = 16 * 1024

/** Elements of the widest row the kernel takes: sums of squared bytes fit its 32 bits. */
const kernelDim = 65_536

/** Rows measured in one step; agrees with BLOCK_ROWS of `wasm/exact.ts`. */
export const blockRows = 1024

/** Hits the scratch has room for; who asks for more gets them by another way. */
const maxHeapRows = 65_536

/** Where the kernel finds things in a segment's memory, in bytes from its start. Rows are at 0. */
export interface Scratch {
  readonly kernel: Kernel
  readonly buffer: ArrayBufferLike
  /** `blockRows` u32s. */
  readonly list: number
  /** `blockRows` f32s. */
  readonly distances: number
  /** The query, zeros to a multiple of 16 elements; before it the masks. */
  readonly query: number
  /** One bit per row. */
  readonly bits: number
  /** `heapRows` u64s. */
  readonly heap: number
  readonly heapRows: number
}

export class VectorSegment implements VectorRows {
  readonly kind: ElementKind
  readonly dim: number
  readonly rows: number
  /** The rows' bytes, zeros at first; the owner fills them. */
  readonly bytes: Uint8Array
  /** The same memory as elements. */
  readonly values: Float32Array | Uint8Array
  /** All memory the segment holds, scratch included; for budgets. */
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
   * Room for `rows` rows. The kernel searches segments of `kernelFrom` to `segmentBytes` bytes where the host has
   * WebAssembly SIMD; the plain loops search all others, with the same results. Throws a `SheafError` of code 17
   * when there is no memory.
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

  /** A segment over the rows that lie at the beginning of memory of `openShared`, for the thread with that seat. */
  static attach(
    memory: SharedMemory | SharedArrayBuffer,
    { kind, dim, rows }: Omit<VectorRows, 'values'>,
    seat: number,
  ): VectorSegment {
    if (memory instanceof SharedArrayBuffer) return new VectorSegment(kind, dim, rows, memory, null)
    const { buffer } = memory
    const layout = layOut(rowBytesOf(kind, dim, rows), dim, rows, seat)
    const kernel = sharedKernelOn(memory)
    return new VectorSegment(kind, dim, rows, buffer, ready({ ...layout, buffer, kernel }))
  }
}

/**
 * Memory for rows that `seats` threads search, each through a segment of its own (`VectorSegment.attach`), and `more` bytes at its
 * end. The rows lie at its beginning, zeros at first. Throws a `SheafError` of code 17 when there is none.
 */
export function openShared(
  { kind, dim, rows }: Omit<VectorRows, 'values'>,
  seats: number,
  more: number,
): SharedMemory | SharedArrayBuffer {
  const rowBytes = rowBytesOf(kind, dim, rows)
  const layout = layOut(rowBytes, dim, rows, seats - 1)
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
 * The list and the distances come first: the kernel reads a little past the last row, and nothing there may be
 * the end of memory. Masks are 64 bytes of ones, then 64 of zeros, right before the query. Where threads share the rows,
 * the scratch of one follows that of the other.
 */
function layOut(rowBytes: number, dim: number, rows: number, seat = 0) {
  const first = roundUp(rowBytes, 64)
  const one = layScratch(first, dim, rows)
  return seat === 0 ? one : layScratch(first + seat * roundUp(one.end - first, 64), dim, rows)
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
