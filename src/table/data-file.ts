/** Fetches footers and columns of data files: as few reads as there are pieces, each checked against its checksum. */
import type { Column } from '../arrow/column.js'
import type { ColumnRange } from '../arrow/file-layout.js'
import { assembleColumn, type FileLayout, parseFileFooter } from '../arrow/file-reader.js'
import type { Field } from '../arrow/types.js'
import { assert, corrupted } from '../errors.js'
import { VectorSegment } from '../kernels/vector-segment.js'
import type { StoredFile } from '../manifest/layout.js'
import type { StoredRuns } from '../manifest/stored-runs.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Claim } from '../primitives/memory.js'
import type { BlobStore } from '../storage/blob-store.js'
import { type LoadedColumn, loadedColumn } from './loaded-column.js'
import { elementKind } from './vector-column.js'

/** The last bytes of a file, read on the guess that its footer is among them. */
const tailGuess = 64 * 1024
/** Reads and checksums go in pieces of this size, so that no step holds the event loop for long. */
const pieceBytes = 4 * 1024 * 1024
/** Pieces under way while one is checked: enough to keep two cores busy with copying. */
const readAhead = 2

/** Throws corrupted (code 18) when the file is missing, cut off, or not the one the log speaks of. */
export async function readFooter(
  store: BlobStore,
  path: string,
  file: Pick<StoredFile, 'bytes' | 'crc'>,
): Promise<FileLayout> {
  let length = Math.min(file.bytes, tailGuess)
  for (;;) {
    const tail = await store.getRange(path, file.bytes - length, length)
    const parsed = named(path, () => parseFileFooter(tail, file.bytes, file.crc))
    if (!('need' in parsed)) return parsed
    assert(parsed.need > length, `the footer of ${path} needs fewer bytes than were read`)
    length = parsed.need
  }
}

/** All bytes of a small file. Throws corrupted (code 18) when it is missing, or not the one the log speaks of. */
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
    `${path} has ${read.length} bytes with checksum ${crcHex(found)}, written were ${bytes} with ${crcHex(crc)}`,
  )
}

/** What reading a column takes, its dictionaries included. */
export function bytesToRead({ bytes, dictionaries }: ColumnRange): number {
  return dictionaries.reduce((sum, { range }) => sum + range.bytes, bytes)
}

/** One column of one batch. The cells of a vector column go straight into kernel memory. `claim`: told what it will take. */
export async function readColumn(
  store: BlobStore,
  path: string,
  footer: FileLayout,
  batch: number,
  column: number,
  field: Field,
  claim: Claim,
): Promise<LoadedColumn> {
  const range = footer.batches[batch]?.columns[column]
  if (range === undefined) throw corrupted(`${path} has no column ${column} in batch ${batch}`)
  claim(bytesToRead(range))
  const dictionaries = new Map<number, Column>()
  for (const { id, field: values, range: where } of range.dictionaries) {
    const bytes = new Uint8Array(where.bytes)
    await readVerified(store, path, where, [bytes])
    dictionaries.set(
      id,
      named(path, () => assembleColumn(values, where, bytes, { dictionaries, verified: true })),
    )
  }
  const kind = elementKind(field.type)
  if (range.cells !== null && kind !== null && field.type.kind === 'fixed_size_list') {
    const head = new Uint8Array(range.cells.offset)
    const segment = VectorSegment.allocate(kind, field.type.size, range.nodes[0]!)
    await readVerified(store, path, range, [head, segment.bytes])
    const options = { cells: segment.bytes, dictionaries, verified: true }
    return loadedColumn(
      named(path, () => assembleColumn(field, range, head, options)),
      segment,
    )
  }
  const bytes = new Uint8Array(range.bytes)
  await readVerified(store, path, range, [bytes])
  return loadedColumn(
    named(path, () => assembleColumn(field, range, bytes, { dictionaries, verified: true })),
  )
}

/** Fills `targets`, which together are the range, and compares the checksum of what came. */
async function readVerified(
  store: BlobStore,
  path: string,
  range: ColumnRange,
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
  assert(at === range.start + range.bytes, `a column of ${path} has bytes nobody reads`)
  if (crc === range.crc) return
  throw corrupted(
    `bytes ${range.start} to ${at} of ${path} have checksum ${crcHex(crc)}, written was ${crcHex(range.crc)}`,
  )
}

function cut(target: Uint8Array): Uint8Array[] {
  const count = Math.ceil(target.length / pieceBytes)
  return Array.from({ length: count }, (_, i) => target.subarray(i * pieceBytes, (i + 1) * pieceBytes))
}

/** Says which file a fault is in. */
function named<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw corrupted(`${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
