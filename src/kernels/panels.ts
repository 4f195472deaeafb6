/** Points packed for the kernels that multiply many of them with many rows (`wasm/clusters.ts`). */

export interface Centroids {
  readonly count: number
  readonly dim: number
  /** `count x dim`. */
  readonly values: Float32Array
}

/** Points that a kernel meets at once, and rows likewise. */
export const panelWidth = 8
export const groupRows = 4

/** Points that tell where all of them lie. */
const midstPoints = 65

export function panelsOf(count: number): number {
  return Math.ceil(count / panelWidth)
}

export function panelsBytes(count: number, dim: number): number {
  return panelsOf(count) * panelWidth * (dim + 1) * 4
}

/** Writes a point in the midst of all to address `originAt`, and to `panelsAt` the points as seen from there. */
export function packPanels(
  points: Centroids,
  buffer: ArrayBufferLike,
  originAt: number,
  panelsAt: number,
): void {
  const { count, dim, values } = points
  const origin = new Float32Array(buffer, originAt, dim)
  origin.set(midstOf(points))
  const panels = new Float32Array(buffer, panelsAt, panelsBytes(count, dim) / 4)
  panels.fill(0)
  for (let number = 0; number < panelsOf(count) * panelWidth; number++) {
    const begin = (number >>> 3) * (dim + 1) * panelWidth + (number & 7)
    let norm = Infinity
    if (number < count) {
      norm = 0
      for (let i = 0; i < dim; i++) {
        const element = Math.fround(values[number * dim + i]! - origin[i]!)
        panels[begin + (i + 1) * panelWidth] = element
        norm += element * element
      }
    }
    panels[begin] = -norm / 2
  }
}

/** A point that most points lie around, wherever a few may be: in each dimension the median of some of them. */
export function midstOf({ count, dim, values }: Centroids): Float32Array {
  const some = new Float32Array(Math.min(count, midstPoints))
  const midst = new Float32Array(dim)
  for (let i = 0; i < dim; i++) {
    for (let j = 0; j < some.length; j++) some[j] = values[Math.floor((j * count) / some.length) * dim + i]!
    midst[i] = some.sort()[some.length >>> 1]!
  }
  return midst
}
