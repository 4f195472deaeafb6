/**
 * What it costs to find near rows one way or another. Nanoseconds on one core, of vectors and indexes that are in memory, from
 * real segments of 100,000 vectors of 128 dimensions; what counts is how they compare, which was measured in one run.
 *
 * - Measuring: in the order of the rows, or jumping between them where few are allowed, which costs little more.
 * - A list: rows are read one after the other, and a row costs what its bytes cost. Codes of residuals need tables of their own for
 *   each partition, which cost more than the rows where partitions are small: for product quantization 256 distances of each part of
 *   the query, for one bit an element a rotation.
 * - A graph: every row is a jump, and so are its edges: half as much again as measuring, with an index of a quarter of the bytes. The more
 *   candidates a walk keeps, the longer each row takes: with 4,096 of them five times as long as with 100.
 * - A search that does not settle costs its own time, and that of measuring all rows.
 * - Of a column that is too large for memory, each row is read first, from the system's cache: by itself, or with all others.
 *
 * Of rows that a filter leaves a share, a search finds as many only if it looks further: the number of rows it passes grew with
 * the share to the power of about -0.9, whether it kept 16 candidates or 200, until it had seen nearly all. A graph that measures a
 * seventh of its rows with none filtered is worth asking where a filter leaves half of them, not where it leaves a third;
 * one that measures a hundredth, from a tenth on.
 */

import { keptFor } from '../indexes/vector/graph-segment.js'
import type { VectorKind } from '../indexes/vector/kind.js'
import type { SegmentFacts, VectorIndexSegment } from '../indexes/vector/segment.js'

interface Cost {
  readonly row: number
  readonly byte: number
}

/** A row that is measured in its column. */
const measured: Cost = { row: 5, byte: 0.035 }
/** A row of a list, by the bytes it has there. */
const listed: Cost = { row: 5, byte: 0.05 }
/** A partition, by the dimensions of the query. */
const partition: Readonly<Record<VectorKind, { readonly each: number; readonly dimension: number }>> = {
  IVF_FLAT: { each: 1000, dimension: 0 },
  IVF_SQ: { each: 1000, dimension: 0 },
  IVF_PQ: { each: 7000, dimension: 70 },
  IVF_RQ: { each: 2000, dimension: 80 },
  IVF_HNSW_FLAT: { each: 0, dimension: 0 },
  IVF_HNSW_SQ: { each: 0, dimension: 0 },
  IVF_HNSW_PQ: { each: 0, dimension: 0 },
}
/** A node of a graph, with its edges, by the bytes it has there. */
const walked: Cost = { row: 45, byte: 0.07 }
/** Each candidate that a walk keeps makes a row so much dearer. */
const kept = 0.07
/** A row that was proposed, to measure it in its column and to put it in its place among the others. */
const proposed: Cost = { row: 300, byte: 0.05 }
/** A row that is read by itself, with the checksum of its block. */
const fetchedRow = 3000
/** A byte of a column that is read whole. */
const readByte = 0.35
/** A larger column is taken not to lie in memory: half of what is kept by default. */
const residentBytes = 512 * 1024 * 1024
/** Looking at a part: its columns, its allowed rows. */
const part = 10_000
/** How much further a search looks where fewer rows are allowed: the share to this power. */
const further = -0.9
/** Rows wanted of a search whose cost a segment knows. */
const usualRows = 10
/** Rows that pass are measured without a look at the index where that takes no longer than this: the index need not be in memory then. */
const negligible = 100_000

/** The column that rows are measured in. */
export interface MeasuredColumn {
  /** Bytes of a vector, or of what is looked at of a row. */
  readonly rowBytes: number
  /** Rows of all of it where they are read from files each time; 0 where they mostly lie in memory. */
  readonly readRows: number
}

/** A column of `rows` rows. The budget of memory does not count: with it, answers would depend on `cacheBytes`. */
export function measuredColumn(rowBytes: number, rows: number): MeasuredColumn {
  return { rowBytes, readRows: rows * rowBytes > residentBytes ? rows : 0 }
}

/** Whether measuring so many rows is not worth a thought. */
export function isLittle(rows: number, parts: number, column: MeasuredColumn): boolean {
  return measuring(rows, parts, column) <= negligible
}

/** Measuring all of some rows. */
export function measuring(rows: number, parts: number, column: MeasuredColumn): number {
  return parts * part + rows * costOf(measured, column.rowBytes) + reading(rows, column)
}

/** Measuring `count` proposed rows and ranking them. */
export function proposing(count: number, column: MeasuredColumn): number {
  return count * costOf(proposed, column.rowBytes) + reading(count, column)
}

/** Reading rows before they are measured. */
function reading(rows: number, { rowBytes, readRows }: MeasuredColumn): number {
  return Math.min(rows * fetchedRow, readRows * rowBytes * readByte)
}

/** The `rowBytes` of a row for which `vectors` vectors are measured: includes what each of them costs beside its bytes. */
export function listBytes(vectors: number, vectorBytes: number): number {
  return vectors * (vectorBytes + measured.row / measured.byte)
}

/**
 * Asking a segment of an index of some kind for `count` candidates where only a part (`share`) of its rows is allowed, and measuring
 * those; `dim`: elements of a vector.
 */
export function asking(
  kind: VectorKind,
  segment: Pick<VectorIndexSegment, 'facts' | 'candidatesFor'>,
  count: number,
  share: number,
  dim: number,
  column: MeasuredColumn,
): number {
  const { facts } = segment
  const more = Math.max(1, count / segment.candidatesFor(usualRows))
  const rows = passed(facts, more, share)
  const partitions = (facts.partitions * rows) / Math.max(1, facts.vectors)
  const { each, dimension } = partition[kind]
  const isGraph = kind.startsWith('IVF_HNSW')
  const row = costOf(isGraph ? walked : listed, facts.rowBytes) + (isGraph ? kept * keptFor(count) : 0)
  return (
    rows * row +
    partitions * (each + dim * dimension) +
    proposing(count, column) +
    (facts.unsettled ?? 0) * measuring(share * facts.vectors, 0, column)
  )
}

/** Rows that a search passes: each is left out with a chance that shrinks with the effort. */
function passed({ vectors, measured }: SegmentFacts, more: number, share: number): number {
  if (vectors === 0) return 0
  const missed = Math.max(0, 1 - (measured * more) / vectors)
  return vectors * (1 - missed ** (share ** further))
}

function costOf({ row, byte }: Cost, bytes: number): number {
  return row + bytes * byte
}
