/** The values of a page, in order. Only values that are taken are in memory, if their encoding allows this. */
import type { Column } from '../../../src/arrow/column.js'
import { sliceColumn } from '../../../src/arrow/slice.js'
import { takeColumn } from '../../../src/arrow/take.js'
import { unsupported } from '../../../src/errors.js'
import { boolColumn, decodeValues, Encoding } from './decode-values.js'
import { brokenParquet } from './fault.js'
import { HybridReader, type PagePart } from './hybrid.js'
import type { LeafPlan } from './read-plan.js'

/** Maximum bytes of the text or binary values that are taken together. */
const maxTakenBytes = 2 ** 30

export class PageValues {
  readonly #plan: LeafPlan
  readonly #dictionary: Column | null
  readonly #encoding: number
  readonly #part: PagePart
  readonly #present: () => number
  /** The indices of a dictionary, or booleans. */
  #numbers: HybridReader | null = null
  /** All values of the page. */
  #decoded: Column | null = null
  /** Values that were skipped or taken. */
  #done = 0
  /** Numbers that were read from `#numbers`. */
  #read = 0

  /** `present`: counts the values of the page. */
  constructor(
    plan: LeafPlan,
    dictionary: Column | null,
    encoding: number,
    part: PagePart,
    present: () => number,
  ) {
    this.#plan = plan
    this.#dictionary = dictionary
    this.#encoding = encoding
    this.#part = part
    this.#present = present
  }

  /** Skip values. They are not decoded until it is necessary. */
  skip(count: number): void {
    this.#done += count
  }

  /** Return the next values. Throws InvalidInput if the page has fewer. */
  take(count: number): Column {
    const from = this.#done
    this.#done += count
    if (count === 0)
      return decodeValues(this.#plan, Encoding.plain, { ...this.#part, to: this.#part.from }, 0)
    const isIndex = this.#encoding === Encoding.dictionary || this.#encoding === Encoding.plainDictionary
    const isBool = this.#encoding === Encoding.rle && this.#plan.leaf.physical === 'boolean'
    if (!isIndex && !isBool) {
      this.#decoded ??= decodeValues(this.#plan, this.#encoding, this.#part, this.#present())
      return sliceColumn(this.#decoded, from, count)
    }
    if (this.#numbers === null) {
      this.#numbers = isIndex ? this.#indexReader() : this.#boolReader()
    }
    this.#numbers.count(from - this.#read, 0)
    this.#read = from + count
    const numbers = new Uint32Array(count)
    this.#numbers.read(numbers)
    return isIndex ? this.#look(numbers, this.#numbers.greatest) : boolColumn(this.#plan, numbers)
  }

  #indexReader(): HybridReader {
    const { bytes, from, to, at } = this.#part
    if (this.#dictionary === null) throw brokenParquet('a column has no dictionary', at)
    const width = from < to ? bytes[from]! : 33
    if (width > 32) throw brokenParquet(`a page has dictionary indices of ${width} bits`, at)
    return new HybridReader({ ...this.#part, from: from + 1 }, width)
  }

  #boolReader(): HybridReader {
    const { bytes, from, to, at } = this.#part
    const size =
      from + 4 > to ? Infinity : new DataView(bytes.buffer, bytes.byteOffset + from, 4).getUint32(0, true)
    if (from + 4 + size > to) throw brokenParquet('the values of a page are cut off', at)
    return new HybridReader({ bytes, from: from + 4, to: from + 4 + size, at }, 1)
  }

  /** `greatest`: the greatest index. */
  #look(indices: Uint32Array, greatest: number): Column {
    const dictionary = this.#dictionary!
    const { length, offsets } = dictionary
    if (greatest >= length)
      throw brokenParquet(
        `a page has the dictionary index ${greatest}, but there are ${length} values`,
        this.#part.at,
      )
    if (offsets !== null) {
      let bytes = 0
      for (let i = 0; i < indices.length; i++) bytes += offsets[indices[i]! + 1]! - offsets[indices[i]!]!
      if (bytes > maxTakenBytes)
        throw unsupported(`rows of the Parquet file have more than ${maxTakenBytes} bytes of values`)
    }
    return takeColumn(dictionary, indices)
  }
}
