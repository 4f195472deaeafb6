/**
 * A small reader of flatbuffers (flatbuffers.dev, "FlatBuffer Internals") for untrusted metadata.
 *
 * - Every offset is checked before it is followed. Errors name the byte.
 * - Several offsets may point to the same table or text. The reader limits the number of visited tables and the length
 *   of decoded text, so time and memory stay linear in the size of the buffer.
 */
import { invalidInput, type SheafError } from '../errors.js'

const maxDepth = 64
/**
 * Maximum length of all decoded texts together, as a multiple of the buffer's length. Longer text indicates an attack.
 */
const maxTextSharing = 16

/** A buffer with one root table. */
export class Flatbuffer {
  readonly view: DataView
  readonly #bytes: Buffer
  readonly #at: number
  #tablesLeft: number
  #textLeft: number

  /** `at`: offset of `bytes` in the input of the caller. Error messages add it to the position in `bytes`. */
  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#at = at
    this.#tablesLeft = bytes.length >>> 2
    this.#textLeft = bytes.length * maxTextSharing
  }

  root(): Table {
    return this.table(this.follow(0), 0)
  }

  /** Return the target of the offset stored at `position`. */
  follow(position: number): number {
    this.check(position, 4, 'an offset')
    return position + this.view.getUint32(position, true)
  }

  table(position: number, depth: number): Table {
    if (depth > maxDepth) throw this.fault(`tables are nested deeper than ${maxDepth}`, position)
    if (--this.#tablesLeft < 0) throw this.fault('more tables than its length allows', position)
    this.check(position, 4, 'a table')
    const vtable = position - this.view.getInt32(position, true)
    this.check(vtable, 4, 'a vtable')
    const vtableBytes = this.view.getUint16(vtable, true)
    this.check(vtable, Math.max(4, vtableBytes), 'a vtable')
    this.check(position, this.view.getUint16(vtable + 2, true), 'a table')
    return new Table(this, position, vtable, vtableBytes, depth)
  }

  text(position: number): string {
    this.check(position, 4, 'a string')
    const length = this.view.getUint32(position, true)
    this.check(position + 4, length, 'a string')
    this.#textLeft -= length
    if (this.#textLeft < 0) throw this.fault('more text than its length allows', position)
    return this.#bytes.toString('utf8', position + 4, position + 4 + length)
  }

  int64(position: number): number {
    const high = this.view.getInt32(position + 4, true)
    if (high >= 0x200000 || high < -0x200000) {
      throw this.fault(`${this.view.getBigInt64(position, true)} is out of range`, position)
    }
    return high * 0x100000000 + this.view.getUint32(position, true)
  }

  check(position: number, length: number, what: string): void {
    if (position < 0 || position + length > this.#bytes.length) {
      throw this.fault(`${what} reaches past the metadata`, Math.max(0, position))
    }
  }

  fault(what: string, position: number): SheafError {
    return invalidInput(`broken arrow metadata: ${what} (byte ${this.#at + position})`)
  }
}

/**
 * A table of a flatbuffer. `slot` is the number of a field in the schema (.fbs) file, from 0. `absent` is the value
 * that a method returns if the table does not have the field.
 */
export class Table {
  readonly depth: number
  readonly #buffer: Flatbuffer
  readonly #position: number
  readonly #vtable: number
  readonly #vtableBytes: number

  constructor(buffer: Flatbuffer, position: number, vtable: number, vtableBytes: number, depth: number) {
    this.#buffer = buffer
    this.#position = position
    this.#vtable = vtable
    this.#vtableBytes = vtableBytes
    this.depth = depth
  }

  int8(slot: number, absent: number): number {
    const position = this.#find(slot, 1)
    return position === 0 ? absent : this.#buffer.view.getInt8(position)
  }

  uint8(slot: number, absent: number): number {
    const position = this.#find(slot, 1)
    return position === 0 ? absent : this.#buffer.view.getUint8(position)
  }

  bool(slot: number): boolean {
    return this.uint8(slot, 0) !== 0
  }

  int16(slot: number, absent: number): number {
    const position = this.#find(slot, 2)
    return position === 0 ? absent : this.#buffer.view.getInt16(position, true)
  }

  int32(slot: number, absent: number): number {
    const position = this.#find(slot, 4)
    return position === 0 ? absent : this.#buffer.view.getInt32(position, true)
  }

  /** Read an int64. Throws `InvalidInput` if a JavaScript number may not represent it exactly. */
  int64(slot: number, absent: number): number {
    const position = this.#find(slot, 8)
    return position === 0 ? absent : this.#buffer.int64(position)
  }

  text(slot: number): string | null {
    const position = this.#find(slot, 4)
    return position === 0 ? null : this.#buffer.text(this.#buffer.follow(position))
  }

  table(slot: number): Table | null {
    const position = this.#find(slot, 4)
    return position === 0 ? null : this.#buffer.table(this.#buffer.follow(position), this.depth + 1)
  }

  /** Read a vector of tables. Returns an empty array if the table does not have the field. */
  tables(slot: number): Table[] {
    const { start, count } = this.#vector(slot, 4)
    const out: Table[] = []
    for (let i = 0; i < count; i++) {
      out.push(this.#buffer.table(this.#buffer.follow(start + 4 * i), this.depth + 1))
    }
    return out
  }

  /**
   * Read a vector of structs of `perItem` int64 each as a flat array. Returns an empty array if the table does not have
   * the field.
   */
  int64s(slot: number, perItem: number): number[] {
    const { start, count } = this.#vector(slot, 8 * perItem)
    const out: number[] = []
    for (let i = 0; i < count * perItem; i++) out.push(this.#buffer.int64(start + 8 * i))
    return out
  }

  fault(what: string): SheafError {
    return this.#buffer.fault(what, this.#position)
  }

  #vector(slot: number, itemBytes: number): { start: number; count: number } {
    const position = this.#find(slot, 4)
    if (position === 0) return { start: 0, count: 0 }
    const vector = this.#buffer.follow(position)
    this.#buffer.check(vector, 4, 'a vector')
    const count = this.#buffer.view.getUint32(vector, true)
    this.#buffer.check(vector + 4, count * itemBytes, 'a vector')
    return { start: vector + 4, count }
  }

  /** Return the position of a field's value, or 0 if the table does not have the field. `bytes`: size of the value. */
  #find(slot: number, bytes: number): number {
    const entry = 4 + 2 * slot
    if (entry + 2 > this.#vtableBytes) return 0
    const offset = this.#buffer.view.getUint16(this.#vtable + entry, true)
    if (offset === 0) return 0
    this.#buffer.check(this.#position + offset, bytes, 'a field')
    return this.#position + offset
  }
}
