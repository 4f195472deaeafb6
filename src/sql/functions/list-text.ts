/** Compute `array_to_string`, which joins the elements of a list to a string. */
import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { ByteBuilder, textAt } from '../kernels/byte-builder.js'
import { castColumn } from '../kernels/cast.js'
import { decoded } from '../kernels/dictionary.js'
import { utf8 } from '../values/types.js'
import { bitAt, byteRowsOf, listOffsetsOf, type Operand, validWords, wordCount } from '../values/vector.js'
import type { Call } from './call.js'
import { strictRows, textOf } from './operands.js'

/** Compute `array_to_string(list, separator, null_text)`. Without `null_text`, NULL elements are omitted. */
export function arrayToString(call: Call): Column {
  const { args, length, type, describe } = call
  const [list, separator, ofNull] = args as [Operand, Operand, Operand?]
  const { valid, needed } = strictRows(call)
  const offsets = listOffsetsOf(list.column)
  const written = decoded(list.column.children[0]!)
  const wanted = elementsOf(offsets, written.length, list.constant, needed, length)
  const elements = castColumn(written, utf8, false, wanted, describe)
  const lists = { elements, present: validWords(elements), offsets }
  const builder = ByteBuilder.growing(length, byteRowsOf(elements).bytes.length)
  const isAny = list.constant && needed.some(word => word !== 0)
  const constantList = isAny ? new ConstantList(lists, describe) : null
  for (let i = 0; i < length; i++) {
    if (bitAt(needed, i)) {
      const between = textOf(separator, i)
      const instead = ofNull === undefined ? null : textOf(ofNull, i)
      if (constantList !== null) builder.text(constantList.joined(between, instead))
      else joinInto(builder, lists, i, between, instead)
    }
    builder.endRow()
  }
  return builder.finish(type, valid)
}

/**
 * Return a bitmap of the elements that the requested rows need. `isConstant`: all rows have the first list. `needed`:
 * the requested rows.
 */
function elementsOf(
  offsets: Int32Array,
  count: number,
  isConstant: boolean,
  needed: Uint32Array,
  length: number,
): Uint32Array {
  const out = new Uint32Array(wordCount(count))
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const row = isConstant ? 0 : i
    for (let k = offsets[row]!; k < offsets[row + 1]!; k++) out[k >>> 5]! |= 1 << (k & 31)
    if (isConstant) break
  }
  return out
}

/** A column of lists whose elements were converted to strings. `present`: bitmap of the elements that are not NULL. */
interface TextLists {
  readonly elements: Column
  readonly present: Uint32Array | null
  readonly offsets: Int32Array
}

/**
 * Maximum of the elements of a constant list, times the different texts that are made of the list in one batch. Each new
 * combination of separator and NULL text joins all elements again.
 */
const maxJoined = 2 ** 24

/** Maximum characters of a joined constant list. `ByteBuilder` would refuse a longer text later. */
const maxCharacters = 2 ** 28

/** Joins the elements of a constant list. Joined texts are cached. */
class ConstantList {
  readonly #parts: readonly (string | null)[]
  readonly #characters: number
  readonly #describe: () => string
  /** Cache of joined texts. The key is the JSON of the separator and the NULL text. */
  readonly #texts = new Map<string, string>()

  constructor({ elements, present, offsets }: TextLists, describe: () => string) {
    const parts: (string | null)[] = []
    for (let k = offsets[0]!; k < offsets[1]!; k++) {
      parts.push(present === null || bitAt(present, k) ? textAt(elements, k) : null)
    }
    this.#parts = parts
    this.#characters = parts.reduce((sum, part) => sum + (part?.length ?? 0), 0)
    this.#describe = describe
  }

  /**
   * Return the joined elements. `between`: the separator. `instead`: the text for NULLs. If it is null, NULLs are
   * omitted. Throws `InvalidInput` if the text is too long, or if too many combinations of the two texts were joined
   * before.
   */
  joined(between: string, instead: string | null): string {
    const key = JSON.stringify([between, instead])
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const { length } = this.#parts
    const most = this.#characters + length * (between.length + (instead?.length ?? 0))
    if (most > maxCharacters || (this.#texts.size + 1) * length > maxJoined) {
      throw invalidInput(
        `a constant list of ${length} elements takes too long to join, in ${this.#describe()}`,
        {
          hint: 'use short constants as the separator and the text for NULL',
        },
      )
    }
    const shown = instead === null ? this.#parts.filter(part => part !== null) : this.#parts
    const text = shown.map(part => part ?? instead).join(between)
    this.#texts.set(key, text)
    return text
  }
}

/**
 * Append the joined elements of list `row` to the current row of the builder. `between`: the separator. `instead`: the
 * text for NULLs. If it is null, NULLs are omitted.
 */
function joinInto(
  builder: ByteBuilder,
  { elements, present, offsets }: TextLists,
  row: number,
  between: string,
  instead: string | null,
): void {
  let isFirst = true
  for (let k = offsets[row]!; k < offsets[row + 1]!; k++) {
    const isPresent = present === null || bitAt(present, k)
    if (!isPresent && instead === null) continue
    if (!isFirst) builder.text(between)
    builder.text(isPresent ? textAt(elements, k) : instead!)
    isFirst = false
  }
}
