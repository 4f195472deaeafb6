/** Build a column of lists from elements of other columns. */
import type { Column } from '../../arrow/column.js'
import { cellBytes } from '../../arrow/layout.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput } from '../../errors.js'
import { decoded } from '../kernels/dictionary.js'
import { checkSpread, gather } from '../kernels/gather.js'
import { bitAt, columnOf, listOffsetsOf, type Operand, validWords, wordCount } from '../values/vector.js'
import type { Call } from './call.js'

/** Reads a list argument row by row. A constant list is not copied for each row. */
export class Lists {
  /** The elements of all lists. Dictionaries are decoded. */
  readonly elements: Column
  readonly #offsets: Int32Array
  readonly #valid: Uint32Array | null
  readonly #isConstant: boolean

  /** `length`: number of rows. Throws `InvalidInput` if a constant list is too long for this number of rows. */
  constructor(operand: Operand, length: number) {
    checkSpread(operand, length)
    this.elements = decoded(operand.column.children[0]!)
    this.#offsets = listOffsetsOf(operand.column)
    this.#valid = validWords(operand.column)
    this.#isConstant = operand.constant
  }

  /** Return whether the list of a row is not NULL. */
  has(row: number): boolean {
    return this.#valid === null || bitAt(this.#valid, this.#isConstant ? 0 : row)
  }

  /** Return the index in `elements` at which the list of a row begins. */
  start(row: number): number {
    return this.#offsets[this.#isConstant ? 0 : row]!
  }

  /** Return the index in `elements` after the last element of the list of a row. */
  end(row: number): number {
    return this.#offsets[this.#isConstant ? 1 : row + 1]!
  }
}

/**
 * Maximum number of elements in the result of a batch. If the arguments have more elements, their number is the
 * maximum.
 */
const maxElements = 2 ** 24
/** Maximum bytes of the elements that `addRepeated` adds in one batch. */
const maxRepeated = 2 ** 27

/** Builds a column of lists, row by row, from elements of source columns. */
export class ListBuilder {
  readonly #call: Call
  readonly #sources: readonly Column[]
  readonly #starts: readonly number[]
  readonly #limit: number
  readonly #offsets: Int32Array
  readonly #valid: Uint32Array
  #picks = new Int32Array(64)
  #count = 0
  #row = 0
  #repeated = 0

  /** `sources`: columns of elements. Each has the null type, or the element type of the result of `call`. */
  constructor(call: Call, sources: readonly Column[]) {
    this.#call = call
    this.#sources = sources
    const starts: number[] = []
    let total = 0
    for (const { type, length } of sources) {
      starts.push(total)
      total += type.kind === 'null' ? 0 : length
    }
    this.#starts = starts
    this.#limit = Math.max(maxElements, total)
    this.#offsets = new Int32Array(call.length + 1)
    this.#valid = new Uint32Array(wordCount(call.length))
  }

  /** Append element `index` of source number `source` to the list of the current row. */
  add(source: number, index: number): void {
    if (this.#count === this.#picks.length) this.#grow()
    const isTyped = this.#sources[source]!.type.kind !== 'null'
    this.#picks[this.#count++] = isTyped ? this.#starts[source]! + index : -1
  }

  addAll(source: number, from: number, to: number): void {
    for (let index = from; index < to; index++) this.add(source, index)
  }

  /**
   * Append an element as `add` does. Use this for elements that can be added any number of times. Throws `InvalidInput`
   * if the elements that this method adds in a batch take more than 128 MiB.
   */
  addRepeated(source: number, index: number): void {
    this.#repeated += bytesOfRows(this.#sources[source]!, index, index + 1)
    if (this.#repeated > maxRepeated) {
      throw invalidInput(
        `the lists of ${this.#call.describe()} take more than ${maxRepeated / 2 ** 20} MiB in one batch`,
        { hint: 'use a shorter replacement' },
      )
    }
    this.add(source, index)
  }

  /** End the list of the current row. */
  endRow(): void {
    this.#valid[this.#row >>> 5]! |= 1 << (this.#row & 31)
    this.#offsets[++this.#row] = this.#count
  }

  /** Make the current row NULL. */
  skipRow(): void {
    this.#offsets[++this.#row] = this.#count
  }

  finish(): Column {
    const { type, length } = this.#call
    const element = (type as DataType & { kind: 'list' }).child.type
    const child = gather(this.#sources, this.#picks.subarray(0, this.#count), element)
    return columnOf(type, length, { offsets: this.#offsets, children: [child] }, this.#valid)
  }

  #grow(): void {
    if (this.#count >= this.#limit) {
      throw invalidInput(
        `the lists of ${this.#call.describe()} have more than ${this.#limit} elements in one batch`,
        {
          hint: 'make the lists shorter',
        },
      )
    }
    const grown = new Int32Array(Math.min(this.#limit, this.#count * 2))
    grown.set(this.#picks)
    this.#picks = grown
  }
}

/** Return the bytes of the values of the rows from `from` up to `to`. Offsets and validity bitmaps are not counted. */
function bytesOfRows({ type, offsets, children }: Column, from: number, to: number): number {
  switch (type.kind) {
    case 'utf8':
    case 'binary':
      return offsets![to]! - offsets![from]!
    case 'list':
    case 'map':
      return bytesOfRows(children[0]!, offsets![from]!, offsets![to]!)
    case 'fixed_size_list':
      return bytesOfRows(children[0]!, from * type.size, to * type.size)
    case 'struct':
      return children.reduce((sum, child) => sum + bytesOfRows(child, from, to), 0)
    default:
      return cellBytes(type) * (to - from)
  }
}
