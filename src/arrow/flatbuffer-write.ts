/**
 * A small writer of flatbuffers (flatbuffers.dev, "FlatBuffer Internals"). The caller describes a message as a tree of
 * parts. The writer writes the tree front to back, each parent before its children. Equal trees give equal bytes.
 */

type ScalarBytes = 1 | 2 | 4 | 8

/** A part of a message to which another part refers by an offset. */
export type Part =
  | { readonly kind: 'table'; readonly slots: readonly Slot[] }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tables'; readonly items: readonly Part[] }
  | { readonly kind: 'int64s'; readonly values: readonly number[]; readonly perItem: number }

/**
 * The value of one field of a table. Null: the table does not have the field. Slots are in the order of the .fbs file.
 */
type Slot = null | { readonly bytes: ScalarBytes; readonly value: number } | Part

export const int8 = (value: number): Slot => ({ bytes: 1, value })
export const int16 = (value: number): Slot => ({ bytes: 2, value })
export const int32 = (value: number): Slot => ({ bytes: 4, value })
export const int64 = (value: number): Slot => ({ bytes: 8, value })
export const bool = (value: boolean): Slot => ({ bytes: 1, value: value ? 1 : 0 })
export const text = (value: string): Part => ({ kind: 'text', text: value })
export const table = (slots: readonly Slot[]): Part => ({ kind: 'table', slots })
export const tables = (items: readonly Part[]): Part => ({ kind: 'tables', items })
/**
 * Describe a vector of structs of `perItem` int64 each. An int32 field that is padded to 8 bytes is also given as one
 * int64.
 */
export const int64s = (values: readonly number[], perItem: number): Part => ({
  kind: 'int64s',
  values,
  perItem,
})

/**
 * Encode a message. The length of the result is a multiple of 8. The next call reuses the memory of the result, so the
 * caller must copy it before.
 */
export function encodeFlatbuffer(root: Part): Uint8Array {
  const out = Output.empty()
  out.reserve(4)
  out.patch(0, write(root, out))
  out.align(8)
  return out.finish()
}

/** Maximum size in bytes of a buffer that is kept for the next message. Each reply has at least three messages. */
const keptBytes = 64 * 1024

class Output {
  static #kept: Output | null = null
  #bytes = Buffer.alloc(512)
  #view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength)
  #length = 0

  /** Append zero bytes and return their offset. */
  reserve(bytes: number): number {
    const at = this.#length
    this.#length += bytes
    if (this.#length > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(this.#length, 2 * this.#bytes.length))
      grown.set(this.#bytes)
      this.#bytes = grown
      this.#view = new DataView(grown.buffer, grown.byteOffset, grown.byteLength)
    }
    return at
  }

  /** Append zeros until the length modulo `multiple` is `remainder`. */
  align(multiple: number, remainder = 0): void {
    const over = (this.#length - remainder) % multiple
    if (over !== 0) this.reserve(over < 0 ? -over : multiple - over)
  }

  scalar(at: number, bytes: ScalarBytes, value: number): void {
    if (bytes === 1) this.#view.setUint8(at, value & 0xff)
    else if (bytes === 2) this.#view.setInt16(at, value, true)
    else if (bytes === 4) this.#view.setInt32(at, value, true)
    else {
      this.#view.setUint32(at, value >>> 0, true)
      this.#view.setInt32(at + 4, Math.floor(value / 2 ** 32), true)
    }
  }

  /** Write an offset at position `at` that points to position `target`. */
  patch(at: number, target: number): void {
    this.#view.setUint32(at, target - at, true)
  }

  text(at: number, value: string): void {
    this.#bytes.write(value, at, 'utf8')
  }

  finish(): Uint8Array {
    Output.#kept = this.#bytes.length <= keptBytes ? this : null
    return this.#bytes.subarray(0, this.#length)
  }

  /**
   * Return an empty output, with the memory of the last finished message if possible. An unfinished output is not
   * reused.
   */
  static empty(): Output {
    const out = Output.#kept ?? new Output()
    Output.#kept = null
    out.#bytes.fill(0, 0, out.#length)
    out.#length = 0
    return out
  }
}

function write(part: Part, out: Output): number {
  switch (part.kind) {
    case 'table':
      return writeTable(part.slots, out)
    case 'text': {
      const bytes = Buffer.byteLength(part.text)
      out.align(4)
      const at = out.reserve(4 + bytes + 1)
      out.scalar(at, 4, bytes)
      out.text(at + 4, part.text)
      return at
    }
    case 'tables': {
      out.align(4)
      const at = out.reserve(4 + 4 * part.items.length)
      out.scalar(at, 4, part.items.length)
      part.items.forEach((item, i) => {
        out.patch(at + 4 + 4 * i, write(item, out))
      })
      return at
    }
    case 'int64s': {
      out.align(8, 4)
      const at = out.reserve(4 + 8 * part.values.length)
      out.scalar(at, 4, part.values.length / part.perItem)
      part.values.forEach((value, i) => {
        out.scalar(at + 4 + 8 * i, 8, value)
      })
      return at
    }
  }
}

const widths = [8, 4, 2, 1] as const

/**
 * Write the vtable, the table, then all parts to which the table refers. The fields of the table are sorted by
 * descending size, so each field is aligned. Returns the position of the table.
 */
function writeTable(slots: readonly Slot[], out: Output): number {
  let tableBytes = 4
  for (const slot of slots) tableBytes += widthOf(slot)

  const vtableBytes = 4 + 2 * slots.length
  out.align(2)
  const vtable = out.reserve(vtableBytes)
  out.align(8, 4)
  const at = out.reserve(tableBytes)
  out.scalar(vtable, 2, vtableBytes)
  out.scalar(vtable + 2, 2, tableBytes)
  out.scalar(at, 4, at - vtable)

  // Every reply runs this code. For speed it makes one pass per width and does not build or sort a list of fields.
  let next = at + 4
  let references = 0
  for (const width of widths) {
    if (width === 4) references = next
    for (let index = 0; index < slots.length; index++) {
      const slot = slots[index]!
      if (widthOf(slot) !== width) continue
      out.scalar(vtable + 4 + 2 * index, 2, next - at)
      if (slot !== null && 'bytes' in slot) out.scalar(next, width, slot.value)
      next += width
    }
  }
  for (const slot of slots) {
    if (widthOf(slot) !== 4) continue
    if (slot !== null && 'kind' in slot) out.patch(references, write(slot, out))
    references += 4
  }
  return at
}

function widthOf(slot: Slot): 0 | ScalarBytes {
  return slot === null ? 0 : 'bytes' in slot ? slot.bytes : 4
}
