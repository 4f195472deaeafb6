/** Packs points into panels for the kernels that multiply many points with many rows (`wasm/clusters.ts`). */

/** A list of points, for example centroids. */
export interface Centroids {
  readonly count: number
  /** Number of elements of a point. */
  readonly dim: number
  /** The elements of all points, one point after the other. */
  readonly values: Float32Array
}

/** Number of points in a panel, which a kernel processes together. */
export const panelWidth = 8
/** Number of rows in a group, which a kernel processes together. */
export const groupRows = 4

/** Number of points from which `midstOf` estimates the center of all points. */
const centerPoints = 65

/** Return the number of panels for `count` points. */
export function panelsOf(count: number): number {
  return Math.ceil(count / panelWidth)
}

/** Return the bytes of the panels for `count` points. */
export function panelsBytes(count: number, dim: number): number {
  return panelsOf(count) * panelWidth * (dim + 1) * 4
}

/**
 * Write the center of the points to the address `originAt`, and the panels of the points relative to it to the address
 * `panelsAt`.
 */
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
 * Return a point near the center of most points. In each dimension it is the median of some points, so outliers do not
 * affect it.
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
