/**
 * Packs and unpacks blocks of 128 numbers. All numbers of a block have the same number of bits (its width), which is
 * enough for the greatest number. The numbers are interleaved in four lanes. Number `4 i + lane` of the block is number
 * `i` of its lane. Word `4 k + lane` of the block is word `k` of its lane. Therefore the bit position of a number is
 * computed once for four lanes.
 */

/** Numbers per block: the rows of a full block of postings. */
export const blockDocs = 128
const lanes = 4

/** Return the width of a block: the number of bits of its greatest number. */
export function widthOf(greatest: number): number {
  return 32 - Math.clz32(greatest)
}

/** Return the number of 32-bit words of a block. `width`: bits per number. */
export function packedWords(width: number): number {
  return lanes * width
}

/** Pack a block into `packedWords(width)` words from word `at` on. The words must be zeros. */
export function pack(numbers: Uint32Array, width: number, words: Uint32Array, at: number): void {
  if (width === 0) return
  for (let i = 0; i < blockDocs; i++) {
    const bit = (i >>> 2) * width
    const word = at + (bit >>> 5) * lanes + (i & 3)
    const shift = bit & 31
    words[word]! |= numbers[i]! << shift
    if (shift + width > 32) words[word + lanes]! |= numbers[i]! >>> (32 - shift)
  }
}

/** Unpack a block of `width` bits per number from word `at` on into `out`, and add 1 to each number. */
export function unpackFromOne(words: Uint32Array, at: number, width: number, out: Uint32Array): void {
  if (width === 0) {
    out.fill(1)
    return
  }
  const mask = (-1 >>> (32 - width)) | 0
  let a = words[at]! | 0
  let b = words[at + 1]! | 0
  let c = words[at + 2]! | 0
  let d = words[at + 3]! | 0
  let next = at + lanes
  let bit = 0
  for (let i = 0; i < blockDocs; i += lanes) {
    let p = a >>> bit
    let q = b >>> bit
    let r = c >>> bit
    let s = d >>> bit
    bit += width
    if (bit >= 32 && i < blockDocs - lanes) {
      bit -= 32
      a = words[next]! | 0
      b = words[next + 1]! | 0
      c = words[next + 2]! | 0
      d = words[next + 3]! | 0
      next += lanes
      if (bit > 0) {
        const shift = width - bit
        p |= a << shift
        q |= b << shift
        r |= c << shift
        s |= d << shift
      }
    }
    out[i] = (p & mask) + 1
    out[i + 1] = (q & mask) + 1
    out[i + 2] = (r & mask) + 1
    out[i + 3] = (s & mask) + 1
  }
}

/**
 * Unpack a block of gaps to ascending numbers. Each number is the previous number plus the gap plus 1. `before`: the
 * number before the first.
 */
export function unpackAscending(
  words: Uint32Array,
  at: number,
  width: number,
  before: number,
  out: Uint32Array,
): void {
  unpackFromOne(words, at, width, out)
  let last = before | 0
  for (let i = 0; i < blockDocs; i += lanes) {
    out[i] = last = (last + out[i]!) | 0
    out[i + 1] = last = (last + out[i + 1]!) | 0
    out[i + 2] = last = (last + out[i + 2]!) | 0
    out[i + 3] = last = (last + out[i + 3]!) | 0
  }
}
