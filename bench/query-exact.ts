/**
 * Measures exact top-k search: the kernel, compared with only reading the same memory and with an optimized JavaScript
 * loop.
 */
import { searchSegment, sumSegment } from '../src/kernels/exact.js'
import type { Metric } from '../src/kernels/metric.js'
import { Nearest } from '../src/kernels/nearest.js'
import { type ElementKind, segmentBytes, VectorSegment } from '../src/kernels/vector-segment.js'
import { type Bench, type CaseResult, type Contestant, race } from './harness.js'
import { fillBytes, fillFloats, seededRandom } from './random.js'

export interface Parameters {
  readonly floats: { readonly rows: number; readonly dim: number }
  readonly bytes: { readonly rows: number; readonly dim: number }
  readonly k: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'query-exact',
  question:
    'how much slower is exact search than only reading the vectors, and how much faster than JavaScript?',
  small: { floats: { rows: 20_000, dim: 64 }, bytes: { rows: 2_000, dim: 784 }, k: 10, rounds: 3 },
  full: { floats: { rows: 1_000_000, dim: 128 }, bytes: { rows: 240_000, dim: 784 }, k: 10, rounds: 25 },
  async run({ floats, bytes, k, rounds }) {
    const results: CaseResult[] = []
    const sizes = [
      { kind: 'f32', ...floats },
      { kind: 'u8', ...bytes },
    ] as const
    for (const { kind, rows, dim } of sizes) {
      const column = makeColumn(kind, rows, dim, 1)
      const query = makeQuery(kind, dim, 2)
      const loops = makeLoops()
      for (const metric of ['l2', 'cosine', 'dot'] as const) {
        results.push(
          await race({
            title: `${rows} x ${dim} ${kind}, ${metric}, k ${k}`,
            contestants: [
              { name: 'read', run: () => column.map(sumSegment) },
              kernel(column, query, metric, k),
              loop(loops[metric], column, query, k),
            ],
            rounds,
            bytes: column.reduce((sum, segment) => sum + segment.bytes.length, 0),
          }),
        )
      }
    }
    return results
  },
}

/** Generate vectors from a seed, divided into segments as in a table. */
export function makeColumn(kind: ElementKind, rows: number, dim: number, seed: number): VectorSegment[] {
  const random = seededRandom(seed)
  const most = Math.floor(segmentBytes / (kind === 'f32' ? dim * 4 : dim))
  const column: VectorSegment[] = []
  for (let first = 0; first < rows; first += most) {
    const segment = VectorSegment.allocate(kind, dim, Math.min(most, rows - first))
    if (segment.values instanceof Float32Array) fillFloats(segment.values, random)
    else fillBytes(segment.values, random)
    column.push(segment)
  }
  return column
}

export function makeQuery(kind: ElementKind, dim: number, seed: number): Float32Array {
  const random = seededRandom(seed)
  if (kind === 'f32') return fillFloats(new Float32Array(dim), random)
  return Float32Array.from(fillBytes(new Uint8Array(dim), random))
}

/** Return the contestant that runs Sheaf's kernel. Answers are row numbers within the column. */
export function kernel(
  column: readonly VectorSegment[],
  query: Float32Array,
  metric: Metric,
  k: number,
): Contestant {
  return {
    name: 'kernel',
    run() {
      const nearest = new Nearest(k)
      let base = 0
      for (const segment of column) {
        const { distances, ordinals } = searchSegment(segment, query, { metric, k })
        for (let i = 0; i < ordinals.length; i++) nearest.offer(distances[i]!, base + ordinals[i]!)
        base += segment.rows
      }
      return nearest.take().ordinals
    },
  }
}

function loop(
  fill: (values: Elements, query: Float32Array, distances: Float32Array) => void,
  column: readonly VectorSegment[],
  query: Float32Array,
  k: number,
): Contestant {
  return {
    name: 'plain loop',
    run() {
      const nearest = new Nearest(k)
      let base = 0
      for (const { values, rows } of column) {
        const distances = new Float32Array(rows)
        fill(values, query, distances)
        for (let row = 0; row < rows; row++) nearest.offer(distances[row]!, base + row)
        base += rows
      }
      return nearest.take().ordinals
    },
  }
}

type Elements = Float32Array | Uint8Array

/**
 * Create the fastest plain loops that are known: they use four float64 accumulators and no call per row. The loops are
 * compiled again for each column, so that each loop sees only one type of array.
 */
function makeLoops() {
  return {
    l2(values: Elements, query: Float32Array, distances: Float32Array): void {
      const dim = query.length
      for (let row = 0, at = 0; row < distances.length; row++, at += dim) {
        let a = 0
        let b = 0
        let c = 0
        let d = 0
        for (let i = 0; i < dim; i += 4) {
          const p = values[at + i]! - query[i]!
          const q = values[at + i + 1]! - query[i + 1]!
          const r = values[at + i + 2]! - query[i + 2]!
          const s = values[at + i + 3]! - query[i + 3]!
          a += p * p
          b += q * q
          c += r * r
          d += s * s
        }
        distances[row] = a + b + (c + d)
      }
    },

    dot(values: Elements, query: Float32Array, distances: Float32Array): void {
      const dim = query.length
      for (let row = 0, at = 0; row < distances.length; row++, at += dim) {
        let a = 0
        let b = 0
        let c = 0
        let d = 0
        for (let i = 0; i < dim; i += 4) {
          a += values[at + i]! * query[i]!
          b += values[at + i + 1]! * query[i + 1]!
          c += values[at + i + 2]! * query[i + 2]!
          d += values[at + i + 3]! * query[i + 3]!
        }
        distances[row] = 1 - (a + b + (c + d))
      }
    },

    cosine(values: Elements, query: Float32Array, distances: Float32Array): void {
      const dim = query.length
      const norm = query.reduce((sum, value) => sum + value * value, 0)
      for (let row = 0, at = 0; row < distances.length; row++, at += dim) {
        let a = 0
        let b = 0
        let c = 0
        let d = 0
        for (let i = 0; i < dim; i += 2) {
          const p = values[at + i]!
          const q = values[at + i + 1]!
          a += p * query[i]!
          b += q * query[i + 1]!
          c += p * p
          d += q * q
        }
        distances[row] = 1 - (a + b) / Math.sqrt((c + d) * norm)
      }
    },
  }
}
