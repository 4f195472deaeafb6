/** Reads varints of dictionaries and postings, whose checksums were verified. */

/**
 * Reads varints of up to five bytes. It does not validate them: bytes after the end count as zeros. `VarintReader`
 * validates varints, but takes several times as long.
 */
export class ByteReader {
  /** Index of the next byte. */
  at = 0

  next(bytes: Uint8Array): number {
    let byte = bytes[this.at++]! | 0
    if (byte < 128) return byte
    let value = byte & 127
    for (let shift = 7; shift < 28; shift += 7) {
      byte = bytes[this.at++]! | 0
      value |= (byte & 127) << shift
      if (byte < 128) return value
    }
    return value + (bytes[this.at++]! | 0) * 2 ** 28
  }
}
