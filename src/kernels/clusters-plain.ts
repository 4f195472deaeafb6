/** Assignment in plain TypeScript: twin of `wasm/clusters.ts`, bit for bit, on the same memory. */

/** Where `assignRows` finds things, as its parameters there. */
export interface AssignPlaces {
  readonly vectors: number
  readonly origin: number
  readonly groups: number
  readonly panels: number
  readonly bests: number
  readonly out: number
}

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
