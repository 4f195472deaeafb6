/** Writes structs in Thrift's compact protocol, in which Parquet files have their metadata. */

/** A value of a field. Each constructor below makes a value of one type. */
export interface ThriftField {
  readonly kind: number
  readonly write: (out: ByteSink) => void
}

/** The fields of a struct by number, in rising order. Null and undefined fields are absent. */
export type ThriftFields = readonly (readonly [number: number, value: ThriftField | null | undefined])[]

export const int32 = (value: number): ThriftField => ({ kind: 5, write: out => out.zigZag(value) })
export const int64 = (value: number): ThriftField => ({ kind: 6, write: out => out.zigZag(value) })
export const int8 = (value: number): ThriftField => ({ kind: 3, write: out => out.byte(value & 255) })
/** A boolean in a struct: the type is the value. */
export const bool = (value: boolean): ThriftField => ({ kind: value ? 1 : 2, write: () => {} })
export const binary = (value: Uint8Array): ThriftField => ({
  kind: 8,
  write: out => {
    out.varint(value.length)
    out.bytes(value)
  },
})
export const text = (value: string): ThriftField => binary(Buffer.from(value))
export const struct = (fields: ThriftFields): ThriftField => ({
  kind: 12,
  write: out => writeFields(out, fields),
})
/** A list. `kind`: the type of the items, for an empty list. */
export function list(items: readonly ThriftField[], kind = 12): ThriftField {
  return {
    kind: 9,
    write: out => {
      const type = items[0]?.kind ?? kind
      if (items.length < 15) out.byte((items.length << 4) | type)
      else {
        out.byte(0xf0 | type)
        out.varint(items.length)
      }
      for (const item of items) item.write(out)
    },
  }
}
/** A list of booleans. */
export const bools = (values: readonly boolean[]): ThriftField =>
  list(
    values.map(value => ({ kind: 1, write: out => out.byte(value ? 1 : 2) })),
    1,
  )

/** Encode a struct. */
export function writeThrift(fields: ThriftFields): Uint8Array<ArrayBuffer> {
  const out = new ByteSink()
  writeFields(out, fields)
  return out.take()
}

function writeFields(out: ByteSink, fields: ThriftFields): void {
  let last = 0
  for (const [number, value] of fields) {
    if (value === null || value === undefined) continue
    const step = number - last
    if (step <= 15) out.byte((step << 4) | value.kind)
    else {
      out.byte(value.kind)
      out.zigZag(number)
    }
    value.write(out)
    last = number
  }
  out.byte(0)
}

/** A growing buffer. */
class ByteSink {
  #buffer = new Uint8Array(256)
  #used = 0

  byte(value: number): void {
    this.#grow(1)
    this.#buffer[this.#used++] = value
  }

  bytes(value: Uint8Array): void {
    this.#grow(value.length)
    this.#buffer.set(value, this.#used)
    this.#used += value.length
  }

  varint(value: number): void {
    let rest = value
    while (rest >= 128) {
      this.byte((rest % 128) | 128)
      rest = Math.floor(rest / 128)
    }
    this.byte(rest)
  }

  zigZag(value: number): void {
    this.varint(value < 0 ? -value * 2 - 1 : value * 2)
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#buffer.slice(0, this.#used)
  }

  #grow(bytes: number): void {
    if (this.#used + bytes <= this.#buffer.length) return
    const buffer = new Uint8Array(2 * (this.#used + bytes))
    buffer.set(this.#buffer)
    this.#buffer = buffer
  }
}
