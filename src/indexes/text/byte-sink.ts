/** Provides a byte buffer that grows when it is full. */
import { varintBytes, writeVarint } from '../../primitives/varint.js'

/** Initial capacity in bytes. */
const firstBytes = 256

/** Collects bytes; doubles its capacity when it is full. */
export class ByteSink {
  /** The first `length` bytes are written, the others are zeros. */
  bytes = new Uint8Array(firstBytes)
  length = 0

  /** Reserve space for `more` bytes. */
  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(this.length + more, 2 * this.bytes.length))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  /** Append an integer from 0 to 2^53 - 1 as LEB128. */
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

  /** Append zeros up to a multiple of four bytes. */
  align(): void {
    this.skip(-this.length & 3)
  }

  /** Append `bytes` zeros. Return the offset of the first zero. */
  skip(bytes: number): number {
    this.reserve(bytes)
    const from = this.length
    this.length += bytes
    return from
  }

  /** Return a copy of the written bytes, and clear the buffer. */
  take(): Uint8Array {
    const taken = this.bytes.slice(0, this.length)
    this.bytes.fill(0, 0, this.length)
    this.length = 0
    return taken
  }
}
