/** Cuts the rows of a scan into slices that cost about the same, by what is known of them without reading any. */
import type { Fragment } from '../manifest/layout.js'
import { inParallel } from '../primitives/in-parallel.js'
import type { Pacer } from '../primitives/pacer.js'
import type { TableReader } from '../table/table-reader.js'
import { mayPassByRecord } from './filter.js'
import type { Plan } from './plan.js'
import { namesOf } from './run.js'
import { RowSource } from './source.js'

/** Rows `from .. to` of a version, counted among those that live. */
export interface Slice {
  readonly from: number
  readonly to: number
  /** Those of them that may pass the filter. */
  readonly rows: number
  /** Of the columns that are read, as they are stored; about. */
  readonly bytes: number
}

/** A slice has so many bytes where nobody says how many slices there are to be. */
const sliceBytes = 64 * 1024 * 1024
/** A cut is moved to the end of a batch of the file that is so near, by the bytes of a slice. */
const nearPart = 1 / 10
/** Footers of files that are read at the same time. */
const readAhead = 16

/** Rows that lie in one batch of a file. */
interface Piece {
  readonly from: number
  readonly rows: number
  readonly bytes: number
}

/**
 * At most `most` slices with about as many bytes each; null: one for every 64 MiB, up to `limit`. Fragments none of whose rows can pass the
 * filter count nothing, and none of the slices is empty. Reads the footers of the files of the others.
 */
export async function planSlices(
  plan: Plan,
  reader: TableReader,
  most: number | null,
  limit: number,
  pacer: Pacer,
): Promise<readonly Slice[]> {
  const pieces = await piecesOf(plan, reader, pacer)
  const total = pieces.reduce((sum, { bytes }) => sum + bytes, 0)
  const count = most ?? Math.max(1, Math.min(limit, Math.ceil(total / sliceBytes)))
  return cut(pieces, total, count)
}

async function piecesOf(plan: Plan, reader: TableReader, pacer: Pacer): Promise<readonly Piece[]> {
  const source = new RowSource(reader, pacer)
  const names = new Set([...namesOf(plan.output.map(({ value }) => value)), ...(plan.filter?.columns ?? [])])
  const fields = [...names].map(name => source.field(name)).filter(field => field !== undefined)
  const looked: Fragment[] = []
  for (const fragment of reader.layout.fragments) {
    if (mayPassByRecord(source, plan.filter, fragment)) looked.push(fragment)
    if (pacer.due()) await pacer.pause()
  }
  const found = await inParallel(looked, readAhead, async fragment => {
    const pieces: Piece[] = []
    for (const part of await reader.partsOf(fragment, pacer.signal)) {
      const before = await reader.liveBefore(part, pacer.signal)
      const after = await reader.liveBefore({ ...part, first: part.first + part.rows }, pacer.signal)
      const rows = after - before
      const bytes = Math.max(1, (reader.storedBytes(part, fields) * rows) / part.rows)
      if (rows > 0) pieces.push({ from: reader.liveBeforeFragment(fragment) + before, rows, bytes })
    }
    if (pacer.due()) await pacer.pause()
    return pieces
  })
  return found.flat()
}

function cut(pieces: readonly Piece[], total: number, count: number): readonly Slice[] {
  const each = total / count
  const slices: Slice[] = []
  let open: Slice | null = null
  // Bytes before the piece, and before the next cut.
  let before = 0
  let next = each
  for (const piece of pieces) {
    const { rows, bytes } = piece
    for (let first = 0; first < rows; ) {
      const isHere = slices.length + 1 < count && next - before <= bytes + each * nearPart
      const end = isHere ? Math.max(first, cutIn(piece, next - before, each * nearPart)) : rows
      if (end > first) open = extended(open, piece, first, end)
      first = end
      if (!isHere) continue
      if (open !== null) slices.push(open)
      open = null
      next += each
    }
    before += bytes
  }
  if (open !== null) slices.push(open)
  return slices
}

/** The row of a piece before which `at` of its bytes lie; its first or the one behind its last where that is no more than `near` bytes away. */
function cutIn({ rows, bytes }: Piece, at: number, near: number): number {
  if (at <= near) return 0
  return at >= bytes - near ? rows : Math.round((at / bytes) * rows)
}

function extended(open: Slice | null, piece: Piece, first: number, end: number): Slice {
  const rows = end - first
  const bytes = Math.ceil((piece.bytes / piece.rows) * rows)
  const to = piece.from + end
  if (open === null) return { from: piece.from + first, to, rows, bytes }
  return { from: open.from, to, rows: open.rows + rows, bytes: open.bytes + bytes }
}
