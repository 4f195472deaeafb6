/** CRC-32 (IEEE 802.3, as in zip and gzip): 5 GB/s in zlib, guards every byte on disk. */
import { crc32 as zlibCrc32 } from 'node:zlib'

/** Checksum of `bytes`, continuing from the checksum of what came before them. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  return zlibCrc32(bytes, previous)
}

/**
 * The checksum of `length` bytes out of those of their blocks of `block` bytes, the last of which may be shorter (as `crc32_combine` in
 * zlib: zeros behind bytes change the bits of their checksum each on its own).
 */
export function joinedCrc(sums: Uint32Array, block: number, length: number): number {
  const last = sums.length - 1
  const zeros = new Uint8Array(block)
  const ofZeros = crc32(zeros)
  // What the bits of each byte of a checksum become behind which a block follows.
  const become = new Uint32Array(4 * 256)
  for (let i = 0; i < become.length; i++) {
    const byte = i & 255
    const others = byte & (byte - 1)
    if (others > 0) become[i] = become[i - byte + others]! ^ become[i - others]!
    else if (byte > 0) become[i] = crc32(zeros, (byte << (8 * (i >>> 8))) >>> 0) ^ ofZeros
  }
  let crc = sums[0]!
  for (let i = 1; i < last; i++) {
    const low = become[crc & 255]! ^ become[256 + ((crc >>> 8) & 255)]!
    crc = (low ^ become[512 + ((crc >>> 16) & 255)]! ^ become[768 + (crc >>> 24)]! ^ sums[i]!) >>> 0
  }
  if (last === 0) return crc
  const shorter = zeros.subarray(0, length - last * block)
  return (crc32(shorter, crc) ^ crc32(shorter) ^ sums[last]!) >>> 0
}

/** Eight lower-case hex digits. */
export function crcHex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
