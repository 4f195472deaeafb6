/**
 * Assignment to centroids in plain TypeScript. It is the reference implementation of `wasm/clusters.ts`: it computes
 * the same bits in the same memory.
 */

/** Addresses of the buffers of `assignRows`. The parameters of `assignRows` have the same names. */
export interface AssignPlaces {
  readonly vectors: number
  readonly origin: number
  readonly groups: number
  readonly panels: number
  readonly bests: number
  readonly out: number
}

/** Reference implementation of `assignRows`. */
export function assignRowsPlain(
  buffer: ArrayBufferLike,
  rows: number,
  dim: number,
  panelCount: number,
  places: AssignPlaces,
): void {
  const vectors = new Float32Array(buffer, places.vectors, rows * dim)
  const origin = new Float32Array(buffer, places.origin, dim)
  const panels = new Float32Array(buffer, places.panels, panelCount * (dim + 1) * 8)
  const out = new Uint32Array(buffer, places.out, rows)
  const x = new Float32Array(dim)
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < dim; i++) x[i] = vectors[row * dim + i]! - origin[i]!
    let best = -Infinity
    let nearest = 0
    for (let number = 0; number < panelCount * 8; number++) {
      let at = (number >>> 3) * (dim + 1) * 8 + (number & 7)
      let sum = panels[at]!
      for (let i = 0; i < dim; i++) {
        at += 8
        sum = Math.fround(sum + Math.fround(x[i]! * panels[at]!))
      }
      if (sum > best) {
        best = sum
        nearest = number
      }
    }
    out[row] = nearest
  }
}

/** Addresses of the buffers of `assignShorts`. The parameters of `assignShorts` have the same names. */
export interface ShortPlaces extends AssignPlaces {
  readonly scales: number
}

/** The norm to which a row is scaled before its elements are rounded to 16-bit integers. */
export const shortNorm = 32_000

/** Reference implementation of `assignShorts`. */
export function assignShortsPlain(
  buffer: ArrayBufferLike,
  rows: number,
  dim: number,
  least: number,
  panelCount: number,
  places: ShortPlaces,
): void {
  const vectors = new Float32Array(buffer, places.vectors, rows * dim)
  const origin = new Float32Array(buffer, places.origin, dim)
  const out = new Uint32Array(buffer, places.out, rows)
  const width = 64 + Math.ceil(dim / 2) * 32
  const x = new Float32Array(dim)
  const shorts = new Int16Array(dim)
  const sums = new Float32Array(4)
  for (let row = 0; row < rows; row++) {
    sums.fill(0)
    for (let i = 0; i < dim; i++) {
      x[i] = vectors[row * dim + i]! - origin[i]!
      sums[i & 3] = sums[i & 3]! + Math.fround(x[i]! * x[i]!)
    }
    const square = Math.fround(Math.fround(sums[0]! + sums[2]!) + Math.fround(sums[1]! + sums[3]!))
    const scale = Math.fround(shortNorm / Math.max(Math.fround(least), Math.fround(Math.sqrt(square))))
    for (let i = 0; i < dim; i++) shorts[i] = roundedEven(Math.fround(x[i]! * scale))
    let best = -Infinity
    let nearest = 0
    for (let number = 0; number < panelCount * 8; number++) {
      const panel = places.panels + (number >>> 3) * width
      const lane = number & 7
      const floats = new Float32Array(buffer, panel, 16)
      const elements = new Int16Array(buffer, panel + 64, (width - 64) / 2)
      let dot = 0
      for (let i = 0; i < dim; i++) dot += shorts[i]! * elements[(i >> 1) * 16 + lane * 2 + (i & 1)]!
      const product = Math.fround(Math.fround(dot) * floats[8 + lane]!)
      const score = Math.fround(product + Math.fround(floats[lane]! * scale))
      if (score > best) {
        best = score
        nearest = number
      }
    }
    out[row] = nearest
  }
}

/** Round to the nearest integer. Halves are rounded to the even integer. */
export function roundedEven(value: number): number {
  const rounded = Math.round(value)
  return rounded - value === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded
}

/** Addresses of the buffers of `nearPairs`. The parameters of `nearPairs` have the same names. */
export interface PairPlaces {
  readonly vectors: number
  readonly origin: number
  readonly group: number
  readonly panels: number
  readonly bounds: number
  readonly norms: number
  readonly pairs: number
}

/** Reference implementation of `nearPairs`. */
export function nearPairsPlain(
  buffer: ArrayBufferLike,
  rows: number,
  dim: number,
  panelCount: number,
  share: number,
  places: PairPlaces,
): number {
  const vectors = new Float32Array(buffer, places.vectors, rows * dim)
  const origin = new Float32Array(buffer, places.origin, dim)
  const panels = new Float32Array(buffer, places.panels, panelCount * (dim + 1) * 8)
  const bounds = new Float32Array(buffer, places.bounds, panelCount * 8)
  const pairs = new Uint32Array(buffer, places.pairs)
  const x = new Float32Array(dim)
  let count = 0
  for (let first = 0; first < rows; first += 4) {
    for (let p = 0; p < panelCount; p++) {
      for (let row = first; row < Math.min(first + 4, rows); row++) {
        let norm = 0
        for (let i = 0; i < dim; i++) {
          x[i] = vectors[row * dim + i]! - origin[i]!
          norm = Math.fround(norm + Math.fround(x[i]! * x[i]!))
        }
        norm = Math.fround(norm * Math.fround(share))
        for (let lane = 0; lane < 8; lane++) {
          let at = p * (dim + 1) * 8 + lane
          let sum = panels[at]!
          for (let i = 0; i < dim; i++) {
            at += 8
            sum = Math.fround(sum + Math.fround(x[i]! * panels[at]!))
          }
          if (Math.fround(sum + bounds[p * 8 + lane]!) > norm) pairs[count++] = (row << 16) | (p * 8 + lane)
        }
      }
    }
  }
  return count
}
