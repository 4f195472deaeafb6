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

/** Return number `i` of a block of `width` bits per number from word `at` on. */
export function packedNumber(words: Uint32Array, at: number, width: number, i: number): number {
  if (width === 0) return 0
  const bit = (i >>> 2) * width
  const word = at + (bit >>> 5) * lanes + (i & 3)
  const shift = bit & 31
  let number = words[word]! >>> shift
  if (shift + width > 32) number |= words[word + lanes]! << (32 - shift)
  return (number & (-1 >>> (32 - width))) >>> 0
}

/** Return the sum of the first `count` numbers of a block of one bit per number from word `at` on. */
export function sumOfBits(words: Uint32Array, at: number, count: number): number {
  let sum = 0
  for (let lane = 0; lane < lanes; lane++) {
    const ofLane = (count - lane + lanes - 1) >>> 2
    if (ofLane > 0) sum += ones(words[at + lane]! & (-1 >>> (32 - ofLane)))
  }
  return sum
}

/** Return the number of bits of a word that are 1. */
function ones(word: number): number {
  let sums = word - ((word >>> 1) & 0x55555555)
  sums = (sums & 0x33333333) + ((sums >>> 2) & 0x33333333)
  return Math.imul((sums + (sums >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
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
 * number before the first. A second pass over numbers that `unpackFromOne` unpacked would take half of the time again.
 */
export function unpackAscending(
  words: Uint32Array,
  at: number,
  width: number,
  before: number,
  out: Uint32Array,
): void {
  let last = before | 0
  if (width === 0) {
    for (let i = 0; i < blockDocs; i++) out[i] = ++last
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
    out[i] = last = (last + (p & mask) + 1) | 0
    out[i + 1] = last = (last + (q & mask) + 1) | 0
    out[i + 2] = last = (last + (r & mask) + 1) | 0
    out[i + 3] = last = (last + (s & mask) + 1) | 0
  }
}
