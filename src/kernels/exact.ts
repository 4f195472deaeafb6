/**
 * Exact vector search over one segment: every row is measured. 64 MiB take a few milliseconds, so a caller with
 * more than one segment yields between them. What a distance is: `metric.ts`.
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

/** As numbered in `wasm/distance.ts`; rows of bytes with a query of bytes are a kind of their own. */
const kindNumber: Readonly<Record<ElementKind | 'bytes', number>> = { f32: 0, u8: 1, bytes: 2 }
const metricNumber: Readonly<Record<Metric, number>> = { l2: 0, cosine: 1, dot: 2, hamming: 3 }

/** As numbered in `wasm/exact.ts`. */
const visit = { every: 0, filtered: 1, selected: 2 } as const

/** With fewer rows allowed than this share, the kernel jumps from one to the next instead of streaming. */
const sparseShare = 1 / 3

/**
 * The `k` nearest rows: fewer only where fewer are allowed and within the bounds. Throws a `SheafError` of code
 * 13 for a query of another dimension or with an element that is not finite, a `k` that is no count, or a bound
 * that is NaN.
 */
export function searchSegment(segment: VectorSegment, query: Float32Array, options: SearchOptions): Hits {
  checkQuery(segment, query, options.metric)
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

  const { kind, norm } = placeQuery(scratch, segment, query, metric)
  let way: number = visit.every
  if (allowed !== undefined && candidates < rows) {
    way = candidates < rows * sparseShare ? visit.selected : visit.filtered
    new Uint32Array(scratch.buffer, scratch.bits, allowed.words.length).set(allowed.words)
  }
  const found = scratch.kernel.search(
    kind,
    metricNumber[metric],
    rows,
    segment.dim,
    scratch.query,
    norm,
    way,
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
 * The distances of all rows, or of those in `ordinals` and in that order. Refuses a query as `searchSegment`
 * does.
 */
export function distancesOf(
  segment: VectorSegment,
  query: Float32Array,
  metric: Metric,
  ordinals?: Uint32Array,
): Float32Array {
  checkQuery(segment, query, metric)
  if (ordinals !== undefined) checkOrdinals(segment, ordinals)
  const { scratch } = segment
  if (scratch === null) return distancesPlain(segment, query, metric, ordinals)

  const { kernel, list, distances } = scratch
  const { kind, norm } = placeQuery(scratch, segment, query, metric)
  const count = ordinals?.length ?? segment.rows
  const out = new Float32Array(count)
  for (let first = 0; first < count; first += blockRows) {
    const size = Math.min(blockRows, count - first)
    const shared = [segment.dim, scratch.query, norm, distances] as const
    if (ordinals === undefined) {
      kernel.measureRange(kind, metricNumber[metric], first, size, ...shared)
    } else {
      new Uint32Array(scratch.buffer, list, size).set(ordinals.subarray(first, first + size))
      kernel.measureList(kind, metricNumber[metric], list, size, ...shared)
    }
    out.set(new Float32Array(scratch.buffer, distances, size), first)
  }
  for (let i = 0; i < count; i++) if (Number.isNaN(out[i])) out[i] = Infinity
  return out
}

/**
 * The sum modulo 2^32 of the rows' bytes as little-endian 32-bit words, the last filled up with zeros: what
 * reading a segment costs and no more, the limit a bench holds a search against.
 */
export function sumSegment(segment: VectorSegment): number {
  const { scratch, bytes } = segment
  if (scratch !== null) return scratch.kernel.sumWords(scratch.list) >>> 0
  let sum = 0
  for (let i = 0; i < bytes.length; i++) sum = (sum + (bytes[i]! << ((i & 3) * 8))) | 0
  return sum >>> 0
}

/** Writes the query where the kernel reads it; returns the kind of the pairing and the query's norm. */
function placeQuery(
  scratch: Scratch,
  segment: VectorSegment,
  query: Float32Array,
  metric: Metric,
): { readonly kind: number; readonly norm: number } {
  const bytes = segment.kind === 'u8' && holdsBytes(query)
  const padded = Math.ceil(query.length / 16) * 16
  const Elements = metric === 'hamming' ? Uint8Array : bytes ? Int16Array : Float32Array
  const target = new Elements(scratch.buffer, scratch.query, padded)
  target.set(query)
  target.fill(0, query.length)
  return {
    kind: kindNumber[bytes ? 'bytes' : segment.kind],
    norm: metric === 'cosine' ? squaredNorm(query, bytes) : 0,
  }
}

function checkQuery(rows: VectorRows, query: Float32Array, metric: Metric): void {
  if (query.length !== rows.dim)
    throw invalidInput(`a query of ${query.length} dimensions cannot search vectors of ${rows.dim}`)
  for (let i = 0; i < query.length; i++)
    if (!Number.isFinite(query[i]))
      throw invalidInput(`query element ${i} is ${query[i]}, not a finite number`)
  assert(
    metric !== 'hamming' || (rows.kind === 'u8' && holdsBytes(query)),
    'bits differ in bytes only, of rows and query',
  )
}

function checkOptions(rows: VectorRows, { k, lower, upper, allowed }: SearchOptions): void {
  if (!Number.isSafeInteger(k) || k < 0) throw invalidInput(`k is ${quote(k)}, not a count`)
  if (Number.isNaN(lower)) throw invalidInput('the lower bound is NaN')
  if (Number.isNaN(upper)) throw invalidInput('the upper bound is NaN')
  assert(
    allowed === undefined || allowed.length === rows.rows,
    `a bit per row is needed, ${rows.rows} of them`,
  )
}

function checkOrdinals(rows: VectorRows, ordinals: Uint32Array): void {
  let last = 0
  for (let i = 0; i < ordinals.length; i++) last = Math.max(last, ordinals[i]!)
  assert(ordinals.length === 0 || last < rows.rows, `row ${last} of a segment of ${rows.rows}`)
}
