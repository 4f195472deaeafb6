/** Packs points for the kernels that multiply many points with many rows (`wasm/clusters.ts`). */

/** Points of `dim` elements, contiguous. */
export interface Centroids {
  readonly count: number
  readonly dim: number
  /** `count x dim` elements. */
  readonly values: Float32Array
}

/** Points, and rows, that a kernel processes together. */
export const panelWidth = 8
export const groupRows = 4

/** The number of points from which the center of all is estimated. */
const centerPoints = 65

/** Return the number of panels for `count` points. */
export function panelsOf(count: number): number {
  return Math.ceil(count / panelWidth)
}

/** Return the bytes of the panels for `count` points. */
export function panelsBytes(count: number, dim: number): number {
  return panelsOf(count) * panelWidth * (dim + 1) * 4
}

/** Write the center of the points to address `originAt`, and the points relative to it to `panelsAt`. */
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

/**
 * Return a point near the center of most points, robust against outliers: in each dimension the median of some of them.
 */
export function midstOf({ count, dim, values }: Centroids): Float32Array {
  const some = new Float32Array(Math.min(count, centerPoints))
  const midst = new Float32Array(dim)
  for (let i = 0; i < dim; i++) {
    for (let j = 0; j < some.length; j++) some[j] = values[Math.floor((j * count) / some.length) * dim + i]!
    midst[i] = some.sort()[some.length >>> 1]!
  }
  return midst
}
