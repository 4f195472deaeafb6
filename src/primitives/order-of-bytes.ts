/**
 * Compare two byte ranges. Returns a negative number, 0 or a positive number if the first sorts before, equal to or
 * after the second.
 */
export function orderOfBytes(
  a: Uint8Array,
  aStart: number,
  aEnd: number,
  b: Uint8Array,
  bStart: number,
  bEnd: number,
): number {
  const size = Math.min(aEnd - aStart, bEnd - bStart)
  for (let k = 0; k < size; k++) {
    const difference = a[aStart + k]! - b[bStart + k]!
    if (difference !== 0) return difference
  }
  return aEnd - aStart - (bEnd - bStart)
}
