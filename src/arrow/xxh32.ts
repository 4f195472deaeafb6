/**
 * Computes the checksums of LZ4 frames: xxHash with 32 bits and seed 0 (xxHash fast digest algorithm, "XXH32 Algorithm
 * Description").
 */

const prime1 = 0x9e3779b1
const prime2 = 0x85ebca77
const prime3 = 0xc2b2ae3d
const prime4 = 0x27d4eb2f
const prime5 = 0x165667b1

/** Return the hash of `bytes` as an unsigned 32-bit integer. */
export function xxh32(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  let hash = prime5
  if (bytes.length >= 16) {
    let a = prime1 + prime2
    let b = prime2
    let c = 0
    let d = -prime1
    for (; at + 16 <= bytes.length; at += 16) {
      a = round(a, view.getUint32(at, true))
      b = round(b, view.getUint32(at + 4, true))
      c = round(c, view.getUint32(at + 8, true))
      d = round(d, view.getUint32(at + 12, true))
    }
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)
  }
  hash = (hash + bytes.length) | 0
  for (; at + 4 <= bytes.length; at += 4) {
    hash = Math.imul(rotate(hash + Math.imul(view.getUint32(at, true), prime3), 17), prime4)
  }
  for (; at < bytes.length; at++) {
    hash = Math.imul(rotate(hash + Math.imul(bytes[at]!, prime5), 11), prime1)
  }
  hash = Math.imul(hash ^ (hash >>> 15), prime2)
  hash = Math.imul(hash ^ (hash >>> 13), prime3)
  return (hash ^ (hash >>> 16)) >>> 0
}

function round(lane: number, word: number): number {
  return Math.imul(rotate((lane + Math.imul(word, prime2)) | 0, 13), prime1)
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by))
}
