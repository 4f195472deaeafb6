/** Writes messages of Protocol Buffers (https://protobuf.dev/programming-guides/encoding). */

/** Writes one message, field by field. Fields with the default value are left out, as proto3 does. */
export class MessageWriter {
  readonly #bytes: number[] = []

  /** Write a number. Negative numbers are written as `int32` and `int64` are. */
  number(field: number, value: number | bigint): this {
    return BigInt(value) === 0n ? this : this.present(field, value)
  }

  /** Write a number, also if it is 0. */
  present(field: number, value: number | bigint): this {
    this.#varint(field * 8)
    this.#wide(BigInt.asUintN(64, BigInt(value)))
    return this
  }

  bool(field: number, value: boolean): this {
    return this.number(field, value ? 1 : 0)
  }

  text(field: number, value: string): this {
    return value === '' ? this : this.bytes(field, utf8.encode(value))
  }

  /** Write a message, also if it is empty. */
  message(field: number, value: MessageWriter): this {
    return this.#block(field, value.#bytes)
  }

  /** Write bytes, also if there are none. */
  bytes(field: number, value: Uint8Array): this {
    return this.#block(field, value)
  }

  /** Write the numbers of a repeated field. */
  numbers(field: number, values: readonly number[]): this {
    if (values.length === 0) return this
    const packed = new MessageWriter()
    for (const value of values) packed.#wide(BigInt.asUintN(64, BigInt(value)))
    return this.message(field, packed)
  }

  /** Write the entries of a map of texts. */
  entries(field: number, map: Readonly<Record<string, string>>): this {
    for (const [key, value] of Object.entries(map)) {
      this.message(field, new MessageWriter().text(1, key).text(2, value))
    }
    return this
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes)
  }

  #block(field: number, bytes: ArrayLike<number>): this {
    this.#varint(field * 8 + 2)
    this.#varint(bytes.length)
    for (let i = 0; i < bytes.length; i++) this.#bytes.push(bytes[i]!)
    return this
  }

  #varint(value: number): void {
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) this.#bytes.push((rest & 0x7f) | 0x80)
    this.#bytes.push(rest)
  }

  #wide(value: bigint): void {
    if (value < 2n ** 32n) {
      this.#varint(Number(value))
      return
    }
    let rest = value
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes.push(Number(rest & 0x7fn) | 0x80)
    this.#bytes.push(Number(rest))
  }
}

const utf8 = new TextEncoder()
