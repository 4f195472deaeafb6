/**
 * Cost model for vector searches: estimated nanoseconds on one core, for vectors and indexes in memory. The constants
 * were measured in one run on real segments of 100,000 vectors with 128 dimensions. Only their ratios matter.
 *
 * - Exact distances ("measuring"): the cost is almost the same for consecutive rows and for scattered rows.
 * - An index of lists (IVF): rows are read in sequence. Their cost is proportional to their bytes. Codecs that store
 *   residuals also prepare each partition, which costs more than the rows of a small partition. Product quantization
 *   computes 256 distances for each part of the query. The codec with one bit per element rotates the query.
 * - An index of graphs (HNSW): every row and every list of edges is a random access. A row costs 1.5 times as much as
 *   its exact distance, although the index has a quarter of the bytes. The cost of a row grows with the number of
 *   candidates that the search keeps: with 4,096 candidates it is five times the cost with 100.
 * - A search that does not converge costs its own time plus the time of measuring all rows.
 * - If a column is too large for memory, its rows must first be read, either one by one or the whole column.
 *
 * If a filter passes only a share of the rows, a search must visit more rows for the same number of matches. In
 * measurements the number of visited rows grew with share^-0.9, both with 16 and with 200 kept candidates, until nearly
 * all rows were visited. For example, take a graph whose search visits a seventh of the rows without a filter. It is
 * faster than measuring all matching rows if the filter passes half of the rows, but not if it passes a third. If a
 * search visits a hundredth of the rows, the graph is faster even if the filter passes only a tenth.
 */

import { keptFor } from '../indexes/vector/graph-segment.js'
import type { VectorKind } from '../indexes/vector/kind.js'
import type { SegmentFacts, VectorIndexSegment } from '../indexes/vector/segment.js'

/** Nanoseconds per row, and per byte of the row. */
interface Cost {
  readonly row: number
  readonly byte: number
}

/** Cost of the exact distance of a row. */
const measured: Cost = { row: 5, byte: 0.035 }
/** Cost of a row of a list. The bytes are those in the index. */
const listed: Cost = { row: 5, byte: 0.05 }
/** Cost of a partition in nanoseconds: a fixed part, and a part per dimension of the query. */
const partition: Readonly<Record<VectorKind, { readonly each: number; readonly dimension: number }>> = {
  IVF_FLAT: { each: 1000, dimension: 0 },
  IVF_SQ: { each: 1000, dimension: 0 },
  IVF_PQ: { each: 7000, dimension: 70 },
  IVF_RQ: { each: 2000, dimension: 80 },
  IVF_HNSW_FLAT: { each: 0, dimension: 0 },
  IVF_HNSW_SQ: { each: 0, dimension: 0 },
  IVF_HNSW_PQ: { each: 0, dimension: 0 },
}
/** Cost of a node of a graph and its edges. The bytes are those in the index. */
const walked: Cost = { row: 45, byte: 0.07 }
/** Additional nanoseconds per visited row for each candidate that the search keeps. */
const kept = 0.07
/** Cost of a candidate: to measure its exact distance and to rank it. */
const proposed: Cost = { row: 300, byte: 0.05 }
/** Nanoseconds to read a single row, including the checksum of its block. */
const fetchedRow = 3000
/** Nanoseconds per byte to read a whole column. */
const readByte = 0.35
/** Maximum bytes of a column that is assumed to be in memory: half of the default cache. */
const residentBytes = 512 * 1024 * 1024
/** Nanoseconds to load the columns and the allowed rows of a part. */
const part = 10_000
/** Exponent of the share of allowed rows in the number of visited rows. */
const further = -0.9
/** Number of wanted rows for which segments report their measured cost (`SegmentFacts.measured`). */
const usualRows = 10
/** If measuring the matching rows costs at most this many nanoseconds, the index is not opened. */
const negligible = 100_000

/** The vector column whose exact distances are measured. */
export interface MeasuredColumn {
  /** Bytes per row. For lists of vectors: see `listBytes`. */
  readonly rowBytes: number
  /** Number of rows of the column if every query reads it from files. 0 if it is mostly in memory. */
  readonly readRows: number
}

/**
 * Describe a column with `rows` rows. Ignores the real cache size, because answers must not depend on the option
 * `cacheBytes`.
 */
export function measuredColumn(rowBytes: number, rows: number): MeasuredColumn {
  return { rowBytes, readRows: rows * rowBytes > residentBytes ? rows : 0 }
}

/** Return whether measuring `rows` rows in `parts` parts is so cheap that the index is not considered. */
export function isLittle(rows: number, parts: number, column: MeasuredColumn): boolean {
  return measuring(rows, parts, column) <= negligible
}

/** Return the cost of measuring the exact distances of `rows` rows in `parts` parts. */
export function measuring(rows: number, parts: number, column: MeasuredColumn): number {
  return parts * part + rows * costOf(measured, column.rowBytes) + reading(rows, column)
}

/** Return the cost of measuring and ranking `count` candidates. */
export function proposing(count: number, column: MeasuredColumn): number {
  return count * costOf(proposed, column.rowBytes) + reading(count, column)
}

/** Return the cost of reading rows before their distances are measured. */
function reading(rows: number, { rowBytes, readRows }: MeasuredColumn): number {
  return Math.min(rows * fetchedRow, readRows * rowBytes * readByte)
}

/**
 * Return the `rowBytes` of a row with a list of `vectors` vectors. Includes the fixed cost of each vector, converted to
 * bytes.
 */
export function listBytes(vectors: number, vectorBytes: number): number {
  return vectors * (vectorBytes + measured.row / measured.byte)
}

/**
 * Return the cost of searching a segment for `count` candidates and measuring them. `share`: share of the segment's
 * rows that the filter allows, 0 to 1. `dim`: number of elements of a vector.
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

/** Share of the rows of lists that a search visits, if the caller does not set the number of partitions. */
const usualShare = 0.02
/** Number of nodes of a graph that a search visits. */
const usualNodes = 2000

/**
 * Return a rough cost of searching a segment of `rows` rows that is not open. `dim`: number of elements of a vector.
 * `most`: maximum number of partitions to search; undefined: the index decides.
 */
export function guessing(kind: VectorKind, rows: number, dim: number, most: number | undefined): number {
  if (kind.startsWith('IVF_HNSW')) return Math.min(rows, usualNodes) * costOf(walked, dim)
  const share = most === undefined ? usualShare : Math.min(1, most / Math.sqrt(rows))
  return rows * share * costOf(listed, kind === 'IVF_FLAT' ? 4 * dim : dim / 2)
}

/** Nanoseconds per row of a text segment and term of the query. */
const swept = 0.5
/** Nanoseconds to split an unindexed text into terms, twice: for the statistics and for the search. */
const scannedText = 10_000

/** Return a rough cost of searching a text segment of `rows` rows for `terms` terms. */
export function sweeping(rows: number, terms: number): number {
  return rows * terms * swept
}

/** Return a rough cost of searching `rows` unindexed texts. */
export function scanningTexts(rows: number): number {
  return rows * scannedText
}

/**
 * Return the number of rows that a search visits. `more`: factor on the number of rows that it visits without a filter.
 * `share`: share of allowed rows. The probability that a row is not visited falls with a smaller share.
 */
function visited({ vectors, measured }: SegmentFacts, more: number, share: number): number {
  if (vectors === 0) return 0
  const missed = Math.max(0, 1 - (measured * more) / vectors)
  return vectors * (1 - missed ** (share ** further))
}

function costOf({ row, byte }: Cost, bytes: number): number {
  return row + bytes * byte
}
