/** CRC-32 (IEEE 802.3, like in zip and gzip). Every byte on disk has such a checksum. zlib computes 5 GB/s. */
import { crc32 as zlibCrc32 } from 'node:zlib'

/**
 * Return the checksum of `bytes`, or of earlier bytes followed by `bytes`. `previous`: the checksum of the earlier
 * bytes; default: no earlier bytes.
 */
export function crc32(bytes: Uint8Array, previous = 0): number {
  return zlibCrc32(bytes, previous)
}

/**
 * Return the checksum of `length` bytes, computed from the checksums `sums` of their blocks. Each block has `block`
 * bytes; the last block may be shorter. The method is the one of `crc32_combine` in zlib: if a block of zeros is
 * appended to bytes, each bit of the old checksum changes the new checksum independently of the other bits.
 */
export function joinedCrc(sums: Uint32Array, block: number, length: number): number {
  const last = sums.length - 1
  const zeros = new Uint8Array(block)
  const crcOfZeros = crc32(zeros)
  // For each value of each of the four bytes of a checksum: its part of the checksum after a block of zeros is
  // appended.
  const shifted = new Uint32Array(4 * 256)
  for (let i = 0; i < shifted.length; i++) {
    const byte = i & 255
    const others = byte & (byte - 1)
    if (others > 0) shifted[i] = shifted[i - byte + others]! ^ shifted[i - others]!
    else if (byte > 0) shifted[i] = crc32(zeros, (byte << (8 * (i >>> 8))) >>> 0) ^ crcOfZeros
  }
  let crc = sums[0]!
  for (let i = 1; i < last; i++) {
    const low = shifted[crc & 255]! ^ shifted[256 + ((crc >>> 8) & 255)]!
    crc = (low ^ shifted[512 + ((crc >>> 16) & 255)]! ^ shifted[768 + (crc >>> 24)]! ^ sums[i]!) >>> 0
  }
  if (last === 0) return crc
  const shorter = zeros.subarray(0, length - last * block)
  return (crc32(shorter, crc) ^ crc32(shorter) ^ sums[last]!) >>> 0
}

/** Format a checksum as eight lower-case hex digits. */
export function crcHex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
