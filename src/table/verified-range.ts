/** Reads a byte range of a file into given buffers. Checks the bytes that were read while the next bytes are read. */
import { assert, corrupted } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { BlobStore } from '../storage/blob-store.js'

/** Bytes of the first read from the end of a file. Most footers are shorter, so one read is enough. */
const tailGuess = 64 * 1024
/** Bytes of a piece. Ranges are read and checked piece by piece, so that no step blocks the event loop for long. */
export const pieceBytes = 4 * 1024 * 1024
/** Number of pieces that are read ahead while one piece is checked. Two reads in parallel keep two cores busy. */
const readAhead = 2

/** A byte range of a file that has its own checksum. */
export interface CheckedRange {
  readonly start: number
  readonly bytes: number
  readonly crc: number
}

/**
 * Read a range into `targets`, whose sizes add up to the size of the range. Throws Internal ("corrupted") if the
 * checksum differs.
 */
export async function readVerified(
  store: BlobStore,
  path: string,
  range: CheckedRange,
  targets: readonly Uint8Array[],
): Promise<void> {
  const pieces = targets.flatMap(cut)
  const reads: Promise<void>[] = []
  let begun = 0
  let at = range.start
  let crc = 0
  for (const [i, piece] of pieces.entries()) {
    // Read the next pieces while this piece is checked.
    for (; begun < pieces.length && begun <= i + readAhead; begun++) {
      const read = store.readInto(path, at, pieces[begun]!)
      read.catch(() => {})
      reads.push(read)
      at += pieces[begun]!.length
    }
    await reads[i]
    crc = crc32(piece, crc)
  }
  assert(
    at === range.start + range.bytes,
    `the targets for a range of ${path} have ${at - range.start} bytes, expected ${range.bytes}`,
  )
  if (crc === range.crc) return
  throw corrupted(
    `bytes ${range.start} to ${at} of ${path} have checksum ${crcHex(crc)}, expected ${crcHex(range.crc)}`,
  )
}

/**
 * Read the footer of a file. `parse` gets the last bytes of the file. It returns the footer, or the number of bytes
 * that it needs (`need`). Throws Internal ("corrupted") if the file is missing, shorter than recorded, or if `parse`
 * throws.
 */
export async function readTail<F extends object>(
  store: BlobStore,
  path: string,
  fileBytes: number,
  parse: (tail: Uint8Array) => F | { readonly need: number },
): Promise<F> {
  let length = Math.min(fileBytes, tailGuess)
  for (;;) {
    const tail = await store.getRange(path, fileBytes - length, length)
    const parsed = inFile(path, () => parse(tail))
    if (!('need' in parsed)) return parsed
    assert(parsed.need > length, `the footer of ${path} needs fewer bytes than were read`)
    length = parsed.need
  }
}

/** Run `work`. If it throws, throw Internal ("corrupted") with the path and the message of the error. */
export function inFile<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw corrupted(`${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

function cut(target: Uint8Array): Uint8Array[] {
  const count = Math.ceil(target.length / pieceBytes)
  return Array.from({ length: count }, (_, i) => target.subarray(i * pieceBytes, (i + 1) * pieceBytes))
}
