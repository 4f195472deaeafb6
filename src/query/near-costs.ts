/**
 * What it costs to find near rows one way or another. Nanoseconds on one core, of vectors and indexes that are in memory,
 * measured on 100,000 vectors of 128 dimensions: a graph of them took 70 us at an effort that measured some 1,500 rows, with a
 * tenth of them allowed 140, with a hundredth 1,090; all allowed rows took 24 each where they were a hundredth, 62 where they were half.
 * So the two cost the same at about 7,000 allowed rows.
 */
import type { VectorIndexSegment } from '../indexes/vector/segment.js'

/** A row that is measured where its turn comes, beside its bytes. */
const measured = 5
const measuredByte = 0.06
/** The same for a row that is jumped to, in an index or to measure a candidate again. */
const visited = 20
const visitedByte = 0.05
/** Looking at a part: its columns, its allowed rows. */
const part = 10_000
/** Rows wanted of a search whose cost a segment knows. */
const usualRows = 10
/** Rows that pass are measured without a look at the index where that takes no longer than this: the index need not be in memory then. */
const negligible = 100_000

/** Whether measuring so many rows is not worth a thought. `rowBytes`: of a vector in its column. */
export function isLittle(rows: number, parts: number, rowBytes: number): boolean {
  return measuring(rows, parts, rowBytes) <= negligible
}

/** Measuring all of some rows. */
export function measuring(rows: number, parts: number, rowBytes: number): number {
  return parts * part + rows * (measured + rowBytes * measuredByte)
}

/**
 * Asking a segment for `count` candidates where only a part (`share`) of its rows is allowed, and measuring those; `rowBytes`: of
 * a vector in its column. The fewer are allowed, the further it has to look: about with the square root.
 */
export function asking(
  segment: Pick<VectorIndexSegment, 'facts' | 'candidatesFor'>,
  count: number,
  share: number,
  rowBytes: number,
): number {
  const { facts } = segment
  const more = Math.max(1, count / segment.candidatesFor(usualRows, undefined))
  const rows = Math.min(facts.vectors, (facts.measured * more) / Math.sqrt(share))
  return rows * (visited + facts.rowBytes * visitedByte) + count * (visited + rowBytes * visitedByte)
}
