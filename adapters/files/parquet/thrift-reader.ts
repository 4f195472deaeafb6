/**
 * Reads structs in Thrift's compact protocol, in which Parquet files have their metadata. The time and the memory are
 * proportional to the number of bytes, whatever the bytes are.
 */
import { brokenParquet } from './fault.js'

type ThriftValue = number | boolean | Uint8Array | readonly ThriftValue[] | ThriftStruct

/** Maximum depth of structs and lists. Parquet needs 7. */
const maxDepth = 24

/** Maximum number of values in one piece of metadata. */
const maxValues = 1 << 24

/** Signals that the bytes end inside of a struct. A caller that has only the beginning reads more bytes. */
export class ThriftEnd extends Error {}

const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A struct: its values by the number of the field. Each method throws InvalidInput if the value has another type. */
export class ThriftStruct {
  readonly #values: Map<number, ThriftValue>
  /** The byte of the file at which the struct begins, for messages. */
  readonly #at: number

  constructor(values: Map<number, ThriftValue>, at: number) {
    this.#values = values
    this.#at = at
  }

  fault(what: string) {
    return brokenParquet(what, this.#at)
  }

  has(field: number): boolean {
    return this.#values.has(field)
  }

  /** Return an integer from 0 to 2^53 - 1, or null if the field is absent. */
  count(field: number): number | null {
    const value = this.integer(field)
    if (value !== null && value < 0) throw this.fault(`field ${field} of the metadata is ${value}`)
    return value
  }

  /** Return an integer like `count`. Throws InvalidInput if the field is absent. */
  neededCount(field: number): number {
    const value = this.count(field)
    if (value === null) throw this.fault(`field ${field} of the metadata is missing`)
    return value
  }

  integer(field: number): number | null {
    const value = this.#values.get(field)
    if (value === undefined) return null
    if (typeof value !== 'number' || !Number.isSafeInteger(value))
      throw this.fault(`field ${field} of the metadata is not an integer that Sheaf can read`)
    return value
  }

  flag(field: number): boolean | null {
    const value = this.#values.get(field)
    if (value === undefined) return null
    if (typeof value !== 'boolean') throw this.fault(`field ${field} of the metadata is not a boolean`)
    return value
  }

  bytes(field: number): Uint8Array | null {
    const value = this.#values.get(field)
    if (value === undefined) return null
    if (!(value instanceof Uint8Array)) throw this.fault(`field ${field} of the metadata is not a text`)
    return value
  }

  text(field: number): string | null {
    const bytes = this.bytes(field)
    if (bytes === null) return null
    try {
      return text.decode(bytes)
    } catch {
      throw this.fault(`field ${field} of the metadata is not valid UTF-8`)
    }
  }

  struct(field: number): ThriftStruct | null {
    const value = this.#values.get(field)
    if (value === undefined) return null
    if (!(value instanceof ThriftStruct)) throw this.fault(`field ${field} of the metadata is not a struct`)
    return value
  }

  list(field: number): readonly ThriftValue[] | null {
    const value = this.#values.get(field)
    if (value === undefined) return null
    if (!Array.isArray(value)) throw this.fault(`field ${field} of the metadata is not a list`)
    return value
  }

  structs(field: number): readonly ThriftStruct[] {
    return (this.list(field) ?? []).map(value => {
      if (!(value instanceof ThriftStruct))
        throw this.fault(`field ${field} has an item that is not a struct`)
      return value
    })
  }

  byteStrings(field: number): readonly Uint8Array[] {
    return (this.list(field) ?? []).map(value => {
      if (!(value instanceof Uint8Array)) throw this.fault(`field ${field} has an item that is not bytes`)
      return value
    })
  }

  integers(field: number): readonly number[] {
    return (this.list(field) ?? []).map(value => {
      if (typeof value !== 'number' || !Number.isSafeInteger(value))
        throw this.fault(`field ${field} has an item that is not an integer`)
      return value
    })
  }
}

const Wire = {
  stop: 0,
  true: 1,
  false: 2,
  byte: 3,
  int16: 4,
  int32: 5,
  int64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
  uuid: 13,
} as const

/**
 * Read the struct at the start of `bytes`. Returns the struct, and its length in bytes. `at`: the byte of the file at
 * which `bytes` begin.
 * @throws ThriftEnd if the bytes end inside of the struct; InvalidInput if they are not a struct.
 */
export function readThrift(bytes: Uint8Array, at: number): { struct: ThriftStruct; length: number } {
  const reader = new ThriftReader(bytes, at)
  const struct = reader.struct(0)
  return { struct, length: reader.position }
}

class ThriftReader {
  readonly #bytes: Uint8Array
  readonly #at: number
  #values = 0
  position = 0

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  struct(depth: number): ThriftStruct {
    if (depth > maxDepth) throw this.#fault(`its metadata is nested deeper than ${maxDepth} levels`)
    const start = this.#at + this.position
    const values = new Map<number, ThriftValue>()
    let field = 0
    for (;;) {
      const head = this.#byte()
      const kind = head & 15
      if (kind === Wire.stop) return new ThriftStruct(values, start)
      const step = head >>> 4
      field = step === 0 ? this.#zigZag() : field + step
      // In a struct, the type of a boolean is its value.
      if (kind === Wire.true || kind === Wire.false) values.set(field, kind === Wire.true)
      else values.set(field, this.#value(kind, depth + 1))
    }
  }

  #value(kind: number, depth: number): ThriftValue {
    if (++this.#values > maxValues) throw this.#fault(`its metadata has more than ${maxValues} values`)
    switch (kind) {
      case Wire.true:
      case Wire.false:
        return this.#byte() === Wire.true
      case Wire.byte:
        return (this.#byte() << 24) >> 24
      case Wire.int16:
      case Wire.int32:
      case Wire.int64:
        return this.#zigZag()
      case Wire.double:
        return new DataView(this.#take(8).slice().buffer).getFloat64(0, true)
      case Wire.binary:
        return this.#take(this.#varint())
      case Wire.uuid:
        return this.#take(16)
      case Wire.list:
      case Wire.set:
        return this.#list(depth)
      case Wire.map:
        return this.#map(depth)
      case Wire.struct:
        return this.struct(depth)
      default:
        throw this.#fault(`its metadata has the unknown type ${kind}`)
    }
  }

  #list(depth: number): ThriftValue[] {
    if (depth > maxDepth) throw this.#fault(`its metadata is nested deeper than ${maxDepth} levels`)
    const head = this.#byte()
    const size = head >>> 4 === 15 ? this.#varint() : head >>> 4
    // Each item has at least one byte.
    if (size > this.#bytes.length - this.position) throw new ThriftEnd()
    const items: ThriftValue[] = []
    for (let i = 0; i < size; i++) items.push(this.#value(head & 15, depth + 1))
    return items
  }

  /** Parquet has no maps. A map is read only to skip an unknown field. */
  #map(depth: number): ThriftValue[] {
    const size = this.#varint()
    if (size === 0) return []
    const kinds = this.#byte()
    if (depth > maxDepth) throw this.#fault(`its metadata is nested deeper than ${maxDepth} levels`)
    if (size > this.#bytes.length - this.position) throw new ThriftEnd()
    const items: ThriftValue[] = []
    for (let i = 0; i < size; i++) {
      items.push(this.#value(kinds >>> 4, depth + 1), this.#value(kinds & 15, depth + 1))
    }
    return items
  }

  #byte(): number {
    if (this.position >= this.#bytes.length) throw new ThriftEnd()
    return this.#bytes[this.position++]!
  }

  #take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.position) throw new ThriftEnd()
    this.position += length
    return this.#bytes.subarray(this.position - length, this.position)
  }

  /** Read an unsigned integer. One beyond 2^53 is returned as a float, which the methods of ThriftStruct refuse. */
  #varint(): number {
    let value = 0
    let factor = 1
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte()
      value += (byte & 127) * factor
      if (byte < 128) return value
      factor *= 128
    }
    throw this.#fault('its metadata has an integer of more than 10 bytes')
  }

  #zigZag(): number {
    const value = this.#varint()
    if (value > Number.MAX_SAFE_INTEGER) return value * 2
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  #fault(what: string) {
    return brokenParquet(what, this.#at + this.position)
  }
}
