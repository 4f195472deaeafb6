/**
 * Compare two byte ranges in byte order. Returns a negative number if the first range sorts before the second, 0 if
 * both are equal, and a positive number if the first range sorts after the second.
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
