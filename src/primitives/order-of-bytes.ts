/** Negative, 0 or positive as the first range of bytes sorts before, with or after the second. */
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
