/** Reads a stretch of a file into memory that is there, and checks it while it comes. */
import { assert, corrupted } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { BlobStore } from '../storage/blob-store.js'

/** The last bytes of a file, read on the guess that its footer is among them. */
const tailGuess = 64 * 1024
/** Reads and checksums go in pieces of this size, so that no step holds the event loop for long. */
const pieceBytes = 4 * 1024 * 1024
/** Pieces under way while one is checked: enough to keep two cores busy with copying. */
const readAhead = 2

/** Bytes that were written together, and their checksum. */
export interface CheckedRange {
  readonly start: number
  readonly bytes: number
  readonly crc: number
}

/** Fills `targets`, which together are the range. Throws corrupted (code 18) when the checksum of what came is another. */
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
    // The next pieces come while this one is checked.
    for (; begun < pieces.length && begun <= i + readAhead; begun++) {
      const read = store.readInto(path, at, pieces[begun]!)
      read.catch(() => {})
      reads.push(read)
      at += pieces[begun]!.length
    }
    await reads[i]
    crc = crc32(piece, crc)
  }
  assert(at === range.start + range.bytes, `a stretch of ${path} has bytes nobody reads`)
  if (crc === range.crc) return
  throw corrupted(
    `bytes ${range.start} to ${at} of ${path} have checksum ${crcHex(crc)}, written was ${crcHex(range.crc)}`,
  )
}

/**
 * The footer of a file, which `parse` takes from its end, or says how much of it that needs. Throws corrupted (code 18) when the
 * file is missing, cut off, or not the one the log speaks of.
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

/** Says which file a fault is in. */
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
