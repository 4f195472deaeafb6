/** Reads ranges of a file. */
import { assert, invalidInput } from '../errors.js'
import type { ByteRange } from './page.js'

/** The bytes of a file. */
export interface LanceBytes {
  /** Length of the file in bytes. */
  readonly bytes: number
  /** Return the bytes from `start` to before `end`. */
  read(start: number, end: number, signal?: AbortSignal): Promise<Uint8Array>
  /** Fill `target` with the bytes from `start` on. */
  readInto(start: number, target: Uint8Array, signal?: AbortSignal): Promise<void>
}

/** Ranges that are at most this many bytes apart are read together. */
const maxGapBytes = 64 * 1024
/** Maximum bytes of a read of several ranges. */
const maxReadBytes = 32 * 1024 * 1024

/** A read, and the ranges that it contains. */
interface Read {
  readonly start: number
  end: number
  readonly members: number[]
}

/** Read ranges of a file, in the given order. Throws InvalidInput for a range that is not within the file. */
export async function readRanges(
  source: LanceBytes,
  ranges: readonly ByteRange[],
  signal?: AbortSignal,
): Promise<Uint8Array[]> {
  for (const { start, end } of ranges) checkRange(source, start, end)
  const byStart = ranges.map((_, i) => i).sort((a, b) => ranges[a]!.start - ranges[b]!.start)
  const reads: Read[] = []
  for (const i of byStart) {
    const { start, end } = ranges[i]!
    if (start === end) continue
    const last = reads.at(-1)
    if (last !== undefined && start <= last.end + maxGapBytes && end - last.start <= maxReadBytes) {
      last.end = Math.max(last.end, end)
      last.members.push(i)
    } else reads.push({ start, end, members: [i] })
  }
  const out: Uint8Array[] = ranges.map(() => new Uint8Array(0))
  await Promise.all(
    reads.map(async read => {
      const bytes = await readExactly(source, read.start, read.end, signal)
      for (const i of read.members) {
        const { start, end } = ranges[i]!
        out[i] = bytes.subarray(start - read.start, end - read.start)
      }
    }),
  )
  return out
}

/**
 * Return the bytes from `start` to before `end`, not as a Buffer: the method `slice` of a Buffer does not copy. Throws
 * InvalidInput if the source returns fewer bytes.
 */
export async function readExactly(
  source: LanceBytes,
  start: number,
  end: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const bytes = await source.read(start, end, signal)
  if (bytes.length !== end - start) {
    throw invalidInput(`bytes ${start} to ${end} were requested, but ${bytes.length} bytes were returned`)
  }
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Fill `target`, which is as long as a range, with its bytes. Throws InvalidInput for a range that is not within the file. */
export async function readRangeInto(
  source: LanceBytes,
  range: ByteRange,
  target: Uint8Array,
  signal?: AbortSignal,
): Promise<void> {
  checkRange(source, range.start, range.end)
  assert(target.length === range.end - range.start, 'a target as long as its range')
  await source.readInto(range.start, target, signal)
}

function checkRange(source: LanceBytes, start: number, end: number): void {
  if (
    Number.isSafeInteger(start) &&
    Number.isSafeInteger(end) &&
    start >= 0 &&
    start <= end &&
    end <= source.bytes
  )
    return
  throw invalidInput(`the file refers to its bytes ${start} to ${end}, but it has ${source.bytes} bytes`)
}
