/** Bytes that grow in number. */
import { varintBytes, writeVarint } from '../../primitives/varint.js'

/** Memory there is at first. */
const firstBytes = 256

export class ByteSink {
  /** The first `length` of them were written, the others are zeros. */
  bytes = new Uint8Array(firstBytes)
  length = 0

  /** Makes room for so many more. */
  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(this.length + more, 2 * this.bytes.length))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  /** A whole number below 2^53, as LEB128. */
  varint(value: number): void {
    if (value < 128) {
      this.reserve(1)
      this.bytes[this.length++] = value
      return
    }
    this.reserve(varintBytes(value))
    this.length = writeVarint(this.bytes, this.length, value)
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** Zeros up to a multiple of four. */
  align(): void {
    this.skip(-this.length & 3)
  }

  /** So many zeros; gives where they begin. */
  skip(bytes: number): number {
    this.reserve(bytes)
    const from = this.length
    this.length += bytes
    return from
  }

  /** A copy of what was written; begins anew. */
  take(): Uint8Array {
    const taken = this.bytes.slice(0, this.length)
    this.bytes.fill(0, 0, this.length)
    this.length = 0
    return taken
  }
}
