/** An array of non-negative integers whose type has as few bytes per integer as the integers allow. */
export type Numbers = Uint8Array | Uint16Array | Uint32Array

/** Allocate an array for `length` integers from 0 to `greatest`. */
export function numbersUpTo(greatest: number, length: number): Numbers {
  if (greatest < 2 ** 8) return new Uint8Array(length)
  return greatest < 2 ** 16 ? new Uint16Array(length) : new Uint32Array(length)
}
