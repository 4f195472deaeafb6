/**
 * Reads messages of Protocol Buffers (https://protobuf.dev/programming-guides/encoding). The bytes come from files that
 * nobody checked, so each length is compared with the bytes that are left.
 */
import { invalidInput } from '../errors.js'

/** Maximum depth of messages in messages. */
const maxDepth = 100

/** How a value is encoded: a variable-length integer, 8 bytes, a length and bytes, or 4 bytes. */
type WireType = 0 | 1 | 2 | 5

/**
 * Reads one message, field by field:
 *
 *     const message = new MessageReader(bytes)
 *     while (message.next()) {
 *       if (message.field === 1) name = message.text()
 *       else message.skip()
 *     }
 *
 * The caller reads or skips each value before it calls `next` again. All methods throw InvalidInput for bytes that are not
 * a message, and for a value of another wire type.
 */
export class MessageReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #depth: number
  #at = 0
  /** The number of the current field. */
  field = 0
  #wire: WireType = 0

  constructor(bytes: Uint8Array, depth = 0) {
    if (depth > maxDepth) throw invalidInput(`a protobuf message has more than ${maxDepth} levels`)
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#depth = depth
  }

  /** Go to the next field. Returns false at the end of the message. */
  next(): boolean {
    if (this.#at === this.#bytes.length) return false
    const tag = this.#varint()
    const wire = Number(tag & 7n)
    const field = Number(tag >> 3n)
    if (field === 0 || field >= 2 ** 29 || (wire !== 0 && wire !== 1 && wire !== 2 && wire !== 5))
      throw this.#invalid(`field ${field} has wire type ${wire}`)
    this.field = field
    this.#wire = wire
    return true
  }

  /** Return whether the value is a length and bytes, as packed numbers are. */
  get isBytes(): boolean {
    return this.#wire === 2
  }

  skip(): void {
    if (this.#wire === 0) this.#varint()
    else if (this.#wire === 2) this.bytes()
    else this.#take(this.#wire === 1 ? 8 : 4)
  }

  /** Return the bytes of the value, without a copy. */
  bytes(): Uint8Array {
    this.#expect(2)
    const length = this.#varint()
    if (length > BigInt(this.#bytes.length - this.#at)) throw this.#invalid(`${length} bytes are announced`)
    const start = this.#take(Number(length))
    return this.#bytes.subarray(start, this.#at)
  }

  /** Return a reader of the value, which is a message. */
  message(): MessageReader {
    return new MessageReader(this.bytes(), this.#depth + 1)
  }

  /** Return the value as text. Throws InvalidInput if the value is not valid UTF-8. */
  text(): string {
    const bytes = this.bytes()
    try {
      return utf8.decode(bytes)
    } catch (cause) {
      throw invalidInput('a text of a protobuf message is not valid UTF-8', { cause })
    }
  }

  /** Return an unsigned integer of up to 64 bits. */
  uint64(): bigint {
    this.#expect(0)
    return this.#varint()
  }

  /** Return a signed integer of up to 64 bits (`int32` or `int64`, not `sint`). */
  int64(): bigint {
    return BigInt.asIntN(64, this.uint64())
  }

  /** Return an unsigned integer. Throws InvalidInput above 2^53 - 1. */
  count(): number {
    return this.#safe(this.uint64())
  }

  /** Return a signed integer of up to 32 bits. */
  int32(): number {
    return Number(BigInt.asIntN(32, this.uint64()))
  }

  bool(): boolean {
    return this.uint64() !== 0n
  }

  float(): number {
    this.#expect(5)
    return this.#view.getFloat32(this.#take(4), true)
  }

  double(): number {
    this.#expect(1)
    return this.#view.getFloat64(this.#take(8), true)
  }

  fixed64(): bigint {
    this.#expect(1)
    return this.#view.getBigUint64(this.#take(8), true)
  }

  /** Add the numbers of a repeated field, packed or not, to a list. */
  countsInto(counts: number[]): void {
    if (!this.isBytes) {
      counts.push(this.count())
      return
    }
    const packed = new MessageReader(this.bytes(), this.#depth + 1)
    while (packed.#at < packed.#bytes.length) counts.push(this.#safe(packed.#varint()))
  }

  /** Add the signed 32-bit numbers of a repeated field, packed or not, to a list. */
  int32sInto(numbers: number[]): void {
    if (!this.isBytes) {
      numbers.push(this.int32())
      return
    }
    const packed = new MessageReader(this.bytes(), this.#depth + 1)
    while (packed.#at < packed.#bytes.length) numbers.push(Number(BigInt.asIntN(32, packed.#varint())))
  }

  #safe(value: bigint): number {
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw this.#invalid(`${value} is above 2^53 - 1`)
    return Number(value)
  }

  #varint(): bigint {
    let low = 0
    // Nearly all numbers have at most 28 bits, which need no bigint.
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte()
      low += (byte & 0x7f) << shift
      if (byte < 0x80) return BigInt(low)
    }
    let value = BigInt(low)
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw this.#invalid('a number has more than 10 bytes')
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw this.#invalid('it is cut off')
    return byte
  }

  /** Consume `bytes` bytes. Returns their position. */
  #take(bytes: number): number {
    const start = this.#at
    if (bytes > this.#bytes.length - start) throw this.#invalid('it is cut off')
    this.#at += bytes
    return start
  }

  #expect(wire: WireType): void {
    if (this.#wire !== wire)
      throw this.#invalid(`field ${this.field} has wire type ${this.#wire}, not ${wire}`)
  }

  #invalid(problem: string): Error {
    return invalidInput(
      `a protobuf message of ${this.#bytes.length} bytes cannot be read at byte ${this.#at}: ${problem}`,
    )
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
