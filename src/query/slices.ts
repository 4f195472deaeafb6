/** Splits the rows of a scan into slices of about equal bytes. Reads only file metadata, no rows. */
import type { Fragment } from '../manifest/layout.js'
import { inParallel } from '../primitives/in-parallel.js'
import type { Pacer } from '../primitives/pacer.js'
import type { TableReader } from '../table/table-reader.js'
import { mayPassByRecord } from './filter.js'
import { splitByNames } from './named-rows.js'
import type { Plan } from './plan.js'
import { namesOf } from './run.js'
import { RowSource } from './source.js'

/** A range of the live rows of a version. */
export interface Slice {
  /** Number of live rows of the version before the slice. */
  readonly from: number
  /** Number of live rows of the version before the end of the slice. */
  readonly to: number
  /** Number of these rows that may pass the filter. */
  readonly rows: number
  /** Approximate stored bytes of the columns that are read. */
  readonly bytes: number
}

/** Approximate bytes of a slice if the caller does not set the number of slices. */
const sliceBytes = 64 * 1024 * 1024
/** Maximum distance, as a share of a slice, by which a cut is moved so that it is at the start or end of a part. */
const nearPart = 1 / 10
/** Number of files whose footers are read in parallel. */
const readAhead = 16

/** The live rows of one part. */
interface Piece {
  /** Number of live rows of the version before the part. */
  readonly from: number
  /** Number of live rows of the part. */
  readonly rows: number
  /** Approximate stored bytes of these rows, in the columns that are read. */
  readonly bytes: number
}

/**
 * Return slices of about equal bytes. `most`: maximum number of slices; null: one slice per 64 MiB, at most `limit`.
 * Fragments whose statistics exclude a match count as empty. No slice is empty. Reads the footers of the other
 * fragments.
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
  const split = splitByNames(plan.filter)
  const looked: Fragment[] = []
  for (const fragment of reader.layout.fragments) {
    if (mayPassByRecord(source, split, fragment)) looked.push(fragment)
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
  // `before`: bytes of all pieces before this piece. `next`: bytes before the next cut.
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

/**
 * Return the row at which a piece is cut: the row at byte `at`, or the start or end of the piece if that is at most
 * `near` bytes away.
 */
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
