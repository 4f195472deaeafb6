/**
 * Concatenate arrays of numbers. If there is only one array, this array is returned without a copy. `Numbers`: the
 * class of the arrays.
 */
export function joinNumbers<T extends Uint32Array | Float32Array | Float64Array>(
  Numbers: new (length: number) => T,
  pieces: readonly T[],
): T {
  if (pieces.length === 1) return pieces[0]!
  const all = new Numbers(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}
