/**
 * Writes the message of a record batch into given memory. The message of all batches of a schema has the same length,
 * and only some of its numbers differ. So it is encoded once, and for each batch these numbers are replaced.
 */
import { assert } from '../errors.js'
import { encodeBodyMessage } from './ipc-message.js'
import { tightAlignment } from './ipc-writer.js'

/** The numbers of the template are `marked + i`, which occur nowhere else in a message. */
const marked = 0x5a6b7c8d0000

/** A list of numbers whose memory is reused. */
export class Numbers {
  items = new Uint32Array(64)
  length = 0

  push(first: number, second: number): void {
    if (this.length + 2 > this.items.length) {
      const grown = new Uint32Array(2 * this.items.length)
      grown.set(this.items)
      this.items = grown
    }
    this.items[this.length++] = first
    this.items[this.length++] = second
  }
}

/** The message of record batches with `nodeCount` field nodes and `bufferCount` buffers, without dictionaries. */
export class BodyMessage {
  /** The length of the message in bytes. The body follows the message. */
  readonly bytes: number
  readonly #template: Uint8Array
  /** Positions of the numbers: rows, bytes of the body, two for each node, two for each buffer. */
  readonly #positions: Uint32Array

  constructor(nodeCount: number, bufferCount: number) {
    const count = 2 + 2 * nodeCount + 2 * bufferCount
    const marks = Array.from({ length: count }, (_, i) => marked + i)
    const [length, bodyBytes] = [marks[0]!, marks[1]!]
    const nodes = marks.slice(2, 2 + 2 * nodeCount)
    const buffers = marks.slice(2 + 2 * nodeCount)
    this.#template = encodeBodyMessage({ length, nodes, buffers }, bodyBytes, null, 0, tightAlignment)
    this.bytes = this.#template.length
    this.#positions = new Uint32Array(count)
    const view = viewOf(this.#template)
    for (let at = 0; at + 8 <= this.bytes; at += 4) {
      const index = Number(view.getBigInt64(at, true)) - marked
      if (index >= 0 && index < count) this.#positions[index] = at
    }
    assert(!this.#positions.includes(0), 'a number of a message has no position')
  }

  /**
   * Write the message at the start of `target`. `view`: the same memory. `nodes`: (length, null count) of each field
   * node. `buffers`: (offset, length) of each buffer. All numbers are less than 2^32.
   */
  write(
    target: Uint8Array,
    view: DataView,
    rows: number,
    bodyBytes: number,
    nodes: Numbers,
    buffers: Numbers,
  ): void {
    target.set(this.#template)
    const positions = this.#positions
    view.setUint32(positions[0]!, rows, true)
    view.setUint32(positions[0]! + 4, 0, true)
    view.setUint32(positions[1]!, bodyBytes, true)
    view.setUint32(positions[1]! + 4, 0, true)
    let next = 2
    for (const { items, length } of [nodes, buffers]) {
      for (let i = 0; i < length; i++) {
        const at = positions[next++]!
        view.setUint32(at, items[i]!, true)
        view.setUint32(at + 4, 0, true)
      }
    }
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
