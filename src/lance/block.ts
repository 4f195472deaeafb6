/** Decoded values of a column, before they become an Arrow column: slices, joins and selections of them. */
import { bitmapBytes, copyBits, cutBits, setBits } from '../arrow/bits.js'
import { assert, invalidInput } from '../errors.js'

/** Values that all have the same number of bits. Values of 1 bit are a bitmap. */
export interface FixedBlock {
  readonly kind: 'fixed'
  readonly bits: number
  readonly count: number
  readonly bytes: Uint8Array
}

/** Values that differ in length. The first offset is 0. */
interface VariableBlock {
  readonly kind: 'variable'
  readonly count: number
  readonly offsets: Int32Array
  readonly bytes: Uint8Array
}

/** Lists of `size` items. */
interface ListBlock {
  readonly kind: 'list'
  readonly count: number
  readonly size: number
  /** Which items are not null. Null: all. */
  readonly validity: Uint8Array | null
  readonly items: Block
}

/** Values of several children. */
interface StructBlock {
  readonly kind: 'struct'
  readonly count: number
  readonly children: readonly Block[]
}

/** Indices into items. All indices are within the items. */
interface DictionaryBlock {
  readonly kind: 'dictionary'
  readonly count: number
  readonly indices: Int32Array
  readonly items: Block
}

/** Only nulls. */
interface NullBlock {
  readonly kind: 'null'
  readonly count: number
}

export type Block = FixedBlock | VariableBlock | ListBlock | StructBlock | DictionaryBlock | NullBlock

/** Create a block of fixed-width values. Throws InvalidInput if `bytes` is too short. */
export function fixedBlock(bits: number, count: number, bytes: Uint8Array): FixedBlock {
  const needed = Math.ceil((bits * count) / 8)
  if (bytes.length < needed) {
    throw invalidInput(`${count} values of ${bits} bits need ${needed} bytes, but there are ${bytes.length}`)
  }
  return { kind: 'fixed', bits, count, bytes: bytes.length === needed ? bytes : bytes.subarray(0, needed) }
}

/** Return the `count` values from `start` on. */
export function sliceBlock(block: Block, start: number, count: number): Block {
  assert(start >= 0 && count >= 0 && start + count <= block.count, 'a slice within its block')
  if (start === 0 && count === block.count) return block
  switch (block.kind) {
    case 'fixed': {
      if (block.bits === 1) return { ...block, count, bytes: cutBits(block.bytes, start, count) }
      const width = block.bits / 8
      return { ...block, count, bytes: block.bytes.subarray(start * width, (start + count) * width) }
    }
    case 'variable': {
      const first = block.offsets[start]!
      const offsets = block.offsets.slice(start, start + count + 1)
      if (first !== 0) for (let i = 0; i <= count; i++) offsets[i]! -= first
      return { kind: 'variable', count, offsets, bytes: block.bytes.subarray(first, first + offsets[count]!) }
    }
    case 'list': {
      const { size, validity } = block
      return {
        kind: 'list',
        count,
        size,
        validity: validity === null ? null : cutBits(validity, start * size, count * size),
        items: sliceBlock(block.items, start * size, count * size),
      }
    }
    case 'struct':
      return { kind: 'struct', count, children: block.children.map(child => sliceBlock(child, start, count)) }
    case 'dictionary':
      return { ...block, count, indices: block.indices.subarray(start, start + count) }
    case 'null':
      return { kind: 'null', count }
  }
}

/** Return the values of all blocks. `blocks` has at least one block, and none is of the kind `dictionary` or `null`. */
export function concatBlocks(blocks: readonly Block[]): Block {
  const first = blocks[0]
  assert(first !== undefined, 'blocks to join')
  if (blocks.length === 1) return first
  let count = 0
  for (const block of blocks) {
    if (block.kind !== first.kind) throw differing()
    count += block.count
  }
  switch (first.kind) {
    case 'fixed':
      return concatFixed(blocks as readonly FixedBlock[], count)
    case 'variable':
      return concatVariable(blocks as readonly VariableBlock[], count)
    case 'list': {
      const lists = blocks as readonly ListBlock[]
      if (lists.some(list => list.size !== first.size)) throw differing()
      const items = concatBlocks(lists.map(list => list.items))
      return { kind: 'list', count, size: first.size, validity: concatListValidity(lists, count), items }
    }
    case 'struct': {
      const structs = blocks as readonly StructBlock[]
      if (structs.some(struct => struct.children.length !== first.children.length)) throw differing()
      const children = first.children.map((_, i) => concatBlocks(structs.map(struct => struct.children[i]!)))
      return { kind: 'struct', count, children }
    }
    default:
      throw differing()
  }
}

function differing(): Error {
  return invalidInput('the pages of a column have values of different kinds')
}

function concatFixed(blocks: readonly FixedBlock[], count: number): Block {
  const { bits } = blocks[0]!
  const joined = joinedBytes(blocks)
  if (joined !== null) return fixedBlock(bits, count, joined)
  const bytes = new Uint8Array(Math.ceil((bits * count) / 8))
  let at = 0
  for (const block of blocks) {
    if (block.bits !== bits) throw differing()
    if (bits === 1) copyBits(bytes, at, block.bytes, 0, block.count)
    else bytes.set(block.bytes, (at * bits) / 8)
    at += block.count
  }
  return { kind: 'fixed', bits, count, bytes }
}

/** Return the bytes of blocks that are one after the other in the same memory. Null if they are not. */
function joinedBytes(blocks: readonly FixedBlock[]): Uint8Array | null {
  const { bits, bytes: first } = blocks[0]!
  let end = first.byteOffset
  for (const block of blocks) {
    const { buffer, byteOffset, length } = block.bytes
    if (buffer !== first.buffer || byteOffset !== end || length * 8 !== bits * block.count) return null
    end += length
  }
  return new Uint8Array(first.buffer, first.byteOffset, end - first.byteOffset)
}

function concatVariable(blocks: readonly VariableBlock[], count: number): Block {
  let total = 0
  for (const block of blocks) total += block.offsets[block.count]!
  if (total > 0x7fffffff) throw tooMuchText()
  const bytes = new Uint8Array(total)
  const offsets = new Int32Array(count + 1)
  let at = 0
  let base = 0
  for (const block of blocks) {
    const last = block.offsets[block.count]!
    bytes.set(block.bytes.subarray(0, last), base)
    for (let i = 1; i <= block.count; i++) offsets[at + i] = base + block.offsets[i]!
    at += block.count
    base += last
  }
  return { kind: 'variable', count, offsets, bytes }
}

/** Create the error for values that do not fit the 32-bit offsets of a column. */
export function tooMuchText(): Error {
  return invalidInput('the values of the rows have more than 2147483647 bytes', {
    hint: 'read fewer rows at a time',
  })
}

function concatListValidity(lists: readonly ListBlock[], count: number): Uint8Array | null {
  if (lists.every(list => list.validity === null)) return null
  const { size } = lists[0]!
  const validity = new Uint8Array(bitmapBytes(count * size))
  let at = 0
  for (const list of lists) {
    const items = list.count * size
    if (list.validity === null) setBits(validity, at, items)
    else copyBits(validity, at, list.validity, 0, items)
    at += items
  }
  return validity
}

/** Return the values at `indices`, which are within the block. */
export function gatherBlock(block: Block, indices: Int32Array): Block {
  const count = indices.length
  switch (block.kind) {
    case 'fixed':
      return gatherFixed(block, indices)
    case 'variable':
      return gatherVariable(block, indices)
    case 'list': {
      const { size, validity } = block
      const inner = new Int32Array(count * size)
      for (let i = 0, to = 0; i < count; i++) {
        for (let j = 0, from = indices[i]! * size; j < size; j++) inner[to++] = from++
      }
      const bits: Block | null =
        validity === null
          ? null
          : gatherFixed({ kind: 'fixed', bits: 1, count: block.items.count, bytes: validity }, inner)
      return {
        kind: 'list',
        count,
        size,
        validity: bits === null ? null : (bits as FixedBlock).bytes,
        items: gatherBlock(block.items, inner),
      }
    }
    case 'struct':
      return { kind: 'struct', count, children: block.children.map(child => gatherBlock(child, indices)) }
    case 'dictionary':
      return gatherBlock(
        block.items,
        indices.map(index => block.indices[index]!),
      )
    case 'null':
      return { kind: 'null', count }
  }
}

function gatherFixed(block: FixedBlock, indices: Int32Array): Block {
  const { bits, bytes } = block
  const count = indices.length
  const out = new Uint8Array(Math.ceil((bits * count) / 8))
  const width = bits / 8
  if (bits === 1) {
    for (let i = 0; i < count; i++) {
      const index = indices[i]!
      out[i >>> 3]! |= ((bytes[index >>> 3]! >>> (index & 7)) & 1) << (i & 7)
    }
  } else if ((width === 4 || width === 8) && bytes.byteOffset % 4 === 0) {
    const words = width / 4
    const source = new Uint32Array(bytes.buffer, bytes.byteOffset, block.count * words)
    const target = new Uint32Array(out.buffer)
    if (words === 1) for (let i = 0; i < count; i++) target[i] = source[indices[i]!]!
    else {
      for (let i = 0; i < count; i++) {
        target[2 * i] = source[2 * indices[i]!]!
        target[2 * i + 1] = source[2 * indices[i]! + 1]!
      }
    }
  } else {
    for (let i = 0, to = 0; i < count; i++) {
      for (let j = 0, from = indices[i]! * width; j < width; j++) out[to++] = bytes[from++]!
    }
  }
  return { kind: 'fixed', bits, count, bytes: out }
}

function gatherVariable(block: VariableBlock, indices: Int32Array): Block {
  const count = indices.length
  const offsets = new Int32Array(count + 1)
  let total = 0
  for (let i = 0; i < count; i++) {
    total += block.offsets[indices[i]! + 1]! - block.offsets[indices[i]!]!
    if (total > 0x7fffffff) throw tooMuchText()
    offsets[i + 1] = total
  }
  const bytes = new Uint8Array(total)
  for (let i = 0; i < count; i++) {
    const start = block.offsets[indices[i]!]!
    const end = block.offsets[indices[i]! + 1]!
    if (end - start > 32) bytes.set(block.bytes.subarray(start, end), offsets[i]!)
    else for (let from = start, to = offsets[i]!; from < end; ) bytes[to++] = block.bytes[from++]!
  }
  return { kind: 'variable', count, offsets, bytes }
}

/** Maximum bytes of the copies of one value. */
const maxRepeatedBytes = 2 ** 30

/** Return `count` copies of the only value of a block. Throws InvalidInput above 1 GiB. */
export function repeatBlock(block: Block, count: number): Block {
  assert(block.count === 1, 'one value to repeat')
  if (valueBytes(block) * count > maxRepeatedBytes) {
    throw invalidInput(`${count} rows with one constant value have more than ${maxRepeatedBytes} bytes`, {
      hint: 'read fewer rows at a time',
    })
  }
  return gatherBlock(block, new Int32Array(count))
}

function valueBytes(block: Block): number {
  if (block.kind === 'fixed') return block.bits / 8
  if (block.kind === 'variable') return 4 + block.offsets[1]!
  if (block.kind === 'list') return valueBytes(block.items)
  return 8
}
