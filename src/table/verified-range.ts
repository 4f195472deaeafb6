/** Reads a stretch of a file into given memory, and checks it while it is read. */
import { assert, corrupted } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { BlobStore } from '../storage/blob-store.js'

/** Bytes read from the end of a file at first, in the hope that they contain the footer. */
const tailGuess = 64 * 1024
/** Reads and checksums are done in pieces of this size, so that no step blocks the event loop for long. */
const pieceBytes = 4 * 1024 * 1024
/** Pieces that are read ahead while a piece is checked: enough to keep two cores busy with copying. */
const readAhead = 2

/** A stretch of a file with a checksum of its own. */
export interface CheckedRange {
  readonly start: number
  readonly bytes: number
  readonly crc: number
}

/** Read a range into `targets`, which together have its size. Throws Internal ("corrupted") when the checksum differs. */
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
  assert(at === range.start + range.bytes, `the targets of a stretch of ${path} do not have its size`)
  if (crc === range.crc) return
  throw corrupted(
    `bytes ${range.start} to ${at} of ${path} have checksum ${crcHex(crc)}, expected ${crcHex(range.crc)}`,
  )
}

/**
 * Read the footer of a file. `parse` gets the end of the file; it returns the footer, or how many bytes it needs.
 * Throws Internal ("corrupted") when the file is missing, cut off, or not the file that the log names.
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

/** Run `work`, and name the file in its errors. They become Internal ("corrupted"). */
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
