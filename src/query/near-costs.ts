/**
 * Cost model for vector searches: estimated nanoseconds on one core, for vectors and indexes in memory. The constants were
 * measured in one run on real segments of 100,000 vectors with 128 dimensions. Only their ratios matter.
 *
 * - Measuring rows: in row order, or jumping between rows if few are allowed, which costs little more.
 * - A list (IVF): rows are read in sequence, and cost in proportion to their bytes. Codes of residuals need tables for each
 *   partition, which cost more than the rows of small partitions: product quantization computes 256 distances for each part of
 *   the query, one bit per element needs a rotation.
 * - A graph (HNSW): every row and every list of edges is a random access: 1.5 times the cost of measuring a row, for an index of
 *   a quarter of the bytes. Each row costs more if the search keeps more candidates: with 4,096 five times as much as with 100.
 * - A search that does not converge costs its own time, plus that of measuring all rows.
 * - If a column is too large for memory, its rows are first read from the system's cache: one by one, or all together.
 *
 * If a filter passes only a share of the rows, a search must visit more rows for the same number of matches. The number of
 * visited rows grew with share^-0.9, both with 16 and with 200 kept candidates, until nearly all rows were visited. For
 * example, take a graph that visits a seventh of its rows without a filter. The graph is worthwhile if a filter passes half of the
 * rows, but not a third. A graph that visits a hundredth is worthwhile if a filter passes a tenth.
 */

import { keptFor } from '../indexes/vector/graph-segment.js'
import type { VectorKind } from '../indexes/vector/kind.js'
import type { SegmentFacts, VectorIndexSegment } from '../indexes/vector/segment.js'

interface Cost {
  readonly row: number
  readonly byte: number
}

/** A row measured in its column. */
const measured: Cost = { row: 5, byte: 0.035 }
/** A row of a list, by its bytes in the list. */
const listed: Cost = { row: 5, byte: 0.05 }
/** A partition: a fixed cost, and a cost per dimension of the query. */
const partition: Readonly<Record<VectorKind, { readonly each: number; readonly dimension: number }>> = {
  IVF_FLAT: { each: 1000, dimension: 0 },
  IVF_SQ: { each: 1000, dimension: 0 },
  IVF_PQ: { each: 7000, dimension: 70 },
  IVF_RQ: { each: 2000, dimension: 80 },
  IVF_HNSW_FLAT: { each: 0, dimension: 0 },
  IVF_HNSW_SQ: { each: 0, dimension: 0 },
  IVF_HNSW_PQ: { each: 0, dimension: 0 },
}
/** A node of a graph with its edges, by its bytes in the graph. */
const walked: Cost = { row: 45, byte: 0.07 }
/** Additional nanoseconds per visited row for each candidate that the search keeps. */
const kept = 0.07
/** A proposed row: measuring it in its column and ranking it. */
const proposed: Cost = { row: 300, byte: 0.05 }
/** A row read alone, with the checksum of its block. */
const fetchedRow = 3000
/** A byte of a column that is read whole. */
const readByte = 0.35
/** Larger columns are assumed not to be in memory: half of the default cache. */
const residentBytes = 512 * 1024 * 1024
/** A part: loading its columns and its allowed rows. */
const part = 10_000
/** Exponent of the allowed share in the number of visited rows. */
const further = -0.9
/** Number of wanted rows for which a segment knows its cost. */
const usualRows = 10
/** Nanoseconds: if measuring the matching rows costs no more, the index is not opened. */
const negligible = 100_000

/** The vector column in which rows are measured. */
export interface MeasuredColumn {
  /** Bytes of a vector, or bytes read per row. */
  readonly rowBytes: number
  /** Number of rows of the column if it is read from files each time; 0 if it is mostly in memory. */
  readonly readRows: number
}

/** Describe a column of `rows` rows. Ignores the cache size: otherwise answers would depend on `cacheBytes`. */
export function measuredColumn(rowBytes: number, rows: number): MeasuredColumn {
  return { rowBytes, readRows: rows * rowBytes > residentBytes ? rows : 0 }
}

/** Return whether measuring all these rows is cheap enough to not consider the index. */
export function isLittle(rows: number, parts: number, column: MeasuredColumn): boolean {
  return measuring(rows, parts, column) <= negligible
}

/** Return the cost of measuring all of some rows. */
export function measuring(rows: number, parts: number, column: MeasuredColumn): number {
  return parts * part + rows * costOf(measured, column.rowBytes) + reading(rows, column)
}

/** Return the cost of measuring and ranking `count` proposed rows. */
export function proposing(count: number, column: MeasuredColumn): number {
  return count * costOf(proposed, column.rowBytes) + reading(count, column)
}

/** The cost of reading rows before they are measured. */
function reading(rows: number, { rowBytes, readRows }: MeasuredColumn): number {
  return Math.min(rows * fetchedRow, readRows * rowBytes * readByte)
}

/** Return the `rowBytes` of a row with `vectors` vectors to measure. Includes the fixed cost of each vector. */
export function listBytes(vectors: number, vectorBytes: number): number {
  return vectors * (vectorBytes + measured.row / measured.byte)
}

/**
 * Return the cost of searching a segment for `count` candidates and measuring them. `share`: share of its rows that are allowed.
 * `dim`: elements of a vector.
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
  const rows = visited(facts, more, share)
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

/** Number of rows that a search visits. The chance that a row is not visited shrinks with the effort. */
function visited({ vectors, measured }: SegmentFacts, more: number, share: number): number {
  if (vectors === 0) return 0
  const missed = Math.max(0, 1 - (measured * more) / vectors)
  return vectors * (1 - missed ** (share ** further))
}

function costOf({ row, byte }: Cost, bytes: number): number {
  return row + bytes * byte
}
