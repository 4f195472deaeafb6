/**
 * Exact vector search in one segment: computes the distance of every row. A search of 64 MiB takes a few milliseconds,
 * so callers with several segments let the event loop run between them. Distances are defined in `metric.ts`.
 */
import { assert, invalidInput, quote } from '../errors.js'
import { chooseHits, distancesPlain, type SearchOptions, searchPlain, squaredNorm } from './exact-plain.js'
import { holdsBytes, type Metric } from './metric.js'
import { type Hits, readHits } from './nearest.js'
import {
  blockRows,
  type ElementKind,
  type Scratch,
  type VectorRows,
  type VectorSegment,
} from './vector-segment.js'

/** The numbers of kinds in `wasm/distance.ts`. `u8`: rows of bytes and a query of floats. `bytes`: both are bytes. */
const kindNumber: Readonly<Record<ElementKind | 'bytes', number>> = { f32: 0, u8: 1, bytes: 2 }
/** The numbers of metrics in `wasm/distance.ts`. */
const metricNumber: Readonly<Record<Metric, number>> = { l2: 0, cosine: 1, dot: 2, hamming: 3 }

/** The numbers of `EVERY_ROW`, `FILTERED_ROWS` and `SELECTED_ROWS` in `wasm/exact.ts`. */
const visit = { every: 0, filtered: 1, selected: 2 } as const

/**
 * If less than this share of the rows is allowed, the kernel reads only the allowed rows. Otherwise it reads all rows
 * in sequence.
 */
const sparseShare = 1 / 3

/**
 * Return the `k` nearest rows, or fewer if fewer rows are allowed and within the bounds. Throws `InvalidInput` for:
 *
 * - a query with another dimension than the rows, or with an element that is not finite
 * - a `k` that is not an integer of at least 0
 * - a bound that is NaN
 */
export function searchSegment(segment: VectorSegment, query: Float32Array, options: SearchOptions): Hits {
  const measured = new MeasuredQuery(query, options.metric)
  checkFit(segment, measured)
  checkOptions(segment, options)
  const { scratch, rows } = segment
  if (scratch === null) return searchPlain(segment, query, options)

  const { metric, allowed, lower = -Infinity, upper = NaN } = options
  const candidates = allowed?.count() ?? rows
  const k = Math.min(options.k, candidates)
  if (k === 0) return { distances: new Float32Array(0), ordinals: new Uint32Array(0) }
  if (k > scratch.heapRows) {
    const ordinals = allowed?.toIndices()
    return chooseHits(distancesOf(segment, query, metric, ordinals), ordinals, options)
  }

  const { kind, norm } = placeQuery(scratch, segment, measured)
  let visitMode: number = visit.every
  if (allowed !== undefined && candidates < rows) {
    visitMode = candidates < rows * sparseShare ? visit.selected : visit.filtered
    new Uint32Array(scratch.buffer, scratch.bits, allowed.words.length).set(allowed.words)
  }
  const found = scratch.kernel.search(
    kind,
    metricNumber[metric],
    rows,
    segment.dim,
    scratch.query,
    norm,
    visitMode,
    scratch.bits,
    scratch.list,
    scratch.distances,
    scratch.heap,
    k,
    lower,
    upper,
  )
  return readHits(scratch.buffer, scratch.heap, found)
}

/**
 * Return the distances of the rows `ordinals`, in the same order. Default: all rows. Throws `InvalidInput` for the same
 * queries as `searchSegment`.
 */
export function distancesOf(
  segment: VectorSegment,
  query: Float32Array,
  metric: Metric,
  ordinals?: Uint32Array,
): Float32Array {
  const measured = new MeasuredQuery(query, metric)
  const distances = new Float32Array(ordinals?.length ?? segment.rows)
  measureRows(segment, measured, ordinals, distances)
  return distances
}

/**
 * A query that is checked once and then compared with many segments. The constructor throws `InvalidInput` if an
 * element is not finite.
 */
export class MeasuredQuery {
  readonly values: Float32Array
  readonly metric: Metric
  #isBytes: boolean | undefined

  /** `values`: the elements of the query. The caller must not change them afterwards. */
  constructor(values: Float32Array, metric: Metric) {
    checkFinite(values)
    this.values = values
    this.metric = metric
  }

  /** Whether all elements are integers from 0 to 255, so that the query can be compared with bytes exactly. */
  get isBytes(): boolean {
    this.#isBytes ??= holdsBytes(this.values)
    return this.#isBytes
  }
}

/**
 * Write the distances of the rows `ordinals` to `out`, in the same order. Undefined: all rows. `out` must have one
 * element per row. Throws `InvalidInput` for a query with another dimension than the rows.
 */
export function measureRows(
  segment: VectorSegment,
  query: MeasuredQuery,
  ordinals: Uint32Array | undefined,
  out: Float32Array,
): void {
  checkFit(segment, query)
  if (ordinals !== undefined) checkOrdinals(segment, ordinals)
  const { scratch } = segment
  const { values, metric } = query
  if (scratch === null) {
    out.set(distancesPlain(segment, values, metric, ordinals))
    return
  }
  const { kernel, buffer, list, distances } = scratch
  const { kind, norm } = placeQuery(scratch, segment, query)
  const count = out.length
  for (let first = 0; first < count; first += blockRows) {
    const size = Math.min(blockRows, count - first)
    if (ordinals === undefined) {
      kernel.measureRange(
        kind,
        metricNumber[metric],
        first,
        size,
        segment.dim,
        scratch.query,
        norm,
        distances,
      )
    } else {
      const some = size === count ? ordinals : ordinals.subarray(first, first + size)
      new Uint32Array(buffer, list, size).set(some)
      kernel.measureList(kind, metricNumber[metric], list, size, segment.dim, scratch.query, norm, distances)
    }
    const measured = new Float32Array(buffer, distances, size)
    for (let i = 0; i < size; i++) {
      const distance = measured[i]!
      out[first + i] = Number.isNaN(distance) ? Infinity : distance
    }
  }
}

/**
 * Return the sum modulo 2^32 of the rows' bytes, read as little-endian 32-bit words and padded with zeros. Benchmarks
 * measure its time, which is the time to read a segment, as a lower limit for the time of a search.
 */
export function sumSegment(segment: VectorSegment): number {
  const { scratch, bytes } = segment
  if (scratch !== null) return scratch.kernel.sumWords(scratch.list) >>> 0
  let sum = 0
  for (let i = 0; i < bytes.length; i++) sum = (sum + (bytes[i]! << ((i & 3) * 8))) | 0
  return sum >>> 0
}

/**
 * Write the query to the address where the kernel reads it. Returns the number of the kind, and the query's sum of
 * squares for cosine.
 */
function placeQuery(
  scratch: Scratch,
  segment: VectorSegment,
  query: MeasuredQuery,
): { readonly kind: number; readonly norm: number } {
  const { values, metric } = query
  const bytes = segment.kind === 'u8' && query.isBytes
  const padded = Math.ceil(values.length / 16) * 16
  const place = [scratch.buffer, scratch.query, padded] as const
  const target =
    metric === 'hamming'
      ? new Uint8Array(...place)
      : bytes
        ? new Int16Array(...place)
        : new Float32Array(...place)
  target.set(values)
  if (padded > values.length) target.fill(0, values.length)
  return {
    kind: kindNumber[bytes ? 'bytes' : segment.kind],
    norm: metric === 'cosine' ? squaredNorm(values, bytes) : 0,
  }
}

function checkFit(rows: VectorRows, query: MeasuredQuery): void {
  const { length } = query.values
  if (length !== rows.dim)
    throw invalidInput(`the query must have ${rows.dim} dimensions (those of the vectors), got ${length}`)
  assert(
    query.metric !== 'hamming' || (rows.kind === 'u8' && query.isBytes),
    'hamming needs rows and a query of bytes',
  )
}

function checkFinite(query: Float32Array): void {
  for (let i = 0; i < query.length; i++)
    if (!Number.isFinite(query[i]))
      throw invalidInput(`element ${i} of the query must be a finite number, got ${query[i]}`)
}

function checkOptions(rows: VectorRows, { k, lower, upper, allowed }: SearchOptions): void {
  if (!Number.isSafeInteger(k) || k < 0)
    throw invalidInput(`k must be an integer of at least 0, got ${quote(k)}`)
  if (Number.isNaN(lower)) throw invalidInput('the lower bound must be a number, got NaN')
  if (Number.isNaN(upper)) throw invalidInput('the upper bound must be a number, got NaN')
  assert(
    allowed === undefined || allowed.length === rows.rows,
    `allowed needs ${rows.rows} bits, one per row`,
  )
}

function checkOrdinals(rows: VectorRows, ordinals: Uint32Array): void {
  let last = 0
  for (let i = 0; i < ordinals.length; i++) last = Math.max(last, ordinals[i]!)
  assert(ordinals.length === 0 || last < rows.rows, `row ${last} of a segment of ${rows.rows}`)
}
