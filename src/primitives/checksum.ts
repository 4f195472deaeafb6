/** CRC-32 (IEEE 802.3, as in zip and gzip): 5 GB/s in zlib, guards every byte on disk. */
import { crc32 as zlibCrc32 } from 'node:zlib'

/** Checksum of `bytes`, continuing from the checksum of what came before them. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  return zlibCrc32(bytes, previous)
}

/** Eight lower-case hex digits. */
export function crcHex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
