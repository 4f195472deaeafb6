/** Reads a JSON array of objects as rows, one element at a time. */
import { concatBytes } from '../../src/arrow/concat-bytes.js'
import type { Schema } from '../../src/arrow/types.js'
import type { Row } from '../../src/client/table-data.js'
import { invalidInput, quote, type SheafError } from '../../src/errors.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { atRow, readJsonRow, typesIn } from './json-rows.js'
import { type FileSource, readChunks } from './source.js'
import { longestLine } from './text-blocks.js'

interface ReadJsonArrayOptions {
  /** Column types. Default: values have the types of JSON. */
  readonly schema?: Schema | undefined
  readonly signal?: AbortSignal | undefined
}

/** Bytes that are searched for elements without a pause. */
const pieceBytes = 16 * 1024

/**
 * Read the rows of a JSON array of objects on demand (UTF-8). Converts values like `readJsonLines`. Only one element is
 * in memory at a time. An element has at most 64 MiB.
 *
 * Throws InvalidInput for a text that is not a JSON array of objects; ColumnNotFound and SchemaValidation for a row
 * that does not fit the schema. The message contains the number of the row, from 0.
 */
export async function* readJsonArray(
  source: FileSource,
  { schema, signal }: ReadJsonArrayOptions,
): AsyncGenerator<Row> {
  const types = typesIn(schema)
  const splitter = new ElementSplitter()
  const pacer = new Pacer(signal)
  let row = 0
  for await (const chunk of readChunks(source, signal)) {
    for (let from = 0; from < chunk.length; from += pieceBytes) {
      for (const bytes of splitter.push(chunk.subarray(from, from + pieceBytes))) {
        const text = textOf(bytes, row)
        let read: Row
        try {
          read = readJsonRow(text, types)
        } catch (error) {
          throw atRow(error, `row ${row}`, text)
        }
        row++
        yield read
      }
      await pacer.turn()
    }
  }
  splitter.end()
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })

function textOf(bytes: Uint8Array, row: number): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw invalidInput(`row ${row} is not UTF-8`, { cause })
  }
}

const quoteMark = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * The position in the text, by the next byte that is valid there. `before`: the opening bracket. `first`: an element or
 * the closing bracket. `next`: an element. `inside`: a byte of an element. `after`: a comma or the closing bracket. `end`:
 * only white space.
 */
type State = 'before' | 'first' | 'next' | 'inside' | 'after' | 'end'

/**
 * Splits the text of a JSON array into the texts of its elements. This class only finds where an element ends;
 * `JSON.parse` checks the element.
 */
class ElementSplitter {
  #state: State = 'before'
  /** Number of open braces inside the current element. */
  #depth = 0
  #inText = false
  #isEscaped = false
  /** The parts of the current element that came in earlier pieces. */
  #parts: Uint8Array[] = []
  #partBytes = 0
  #elements = 0
  /** Bytes of a byte order mark that may still come, in order. */
  #mark = [0xef, 0xbb, 0xbf]

  /**
   * Add bytes, and return the elements that end in them. The bytes must not change until these elements are decoded.
   * Throws InvalidInput for text that is not a JSON array of objects.
   */
  push(bytes: Uint8Array): readonly Uint8Array[] {
    const elements: Uint8Array[] = []
    let start = 0
    for (let at = 0; at < bytes.length; at++) {
      if (this.#state === 'inside') {
        at = this.#endOfElement(bytes, at)
        if (at === bytes.length) break
        elements.push(this.#element(bytes.subarray(start, at + 1)))
      } else if (!this.#isSkipped(bytes[at]!)) {
        this.#between(bytes[at]!)
        start = at
      }
    }
    if (this.#state === 'inside') this.#keep(bytes.subarray(start))
    return elements
  }

  /** Mark the end of the text. Throws InvalidInput if the array is not complete. */
  end(): void {
    if (this.#state === 'end') return
    if (this.#state === 'before') throw invalidInput('the body is empty: send a JSON array of objects')
    throw invalidInput(`the JSON array ends after ${this.#elements} complete rows, before its "]"`)
  }

  /**
   * Return the position of the byte that ends the current element, or the length of `bytes` if the element continues.
   */
  #endOfElement(bytes: Uint8Array, from: number): number {
    let depth = this.#depth
    let inText = this.#inText
    let isEscaped = this.#isEscaped
    let at = from
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (isEscaped) isEscaped = false
      else if (inText) {
        if (byte === quoteMark) inText = false
        else if (byte === backslash) isEscaped = true
      } else if (byte === quoteMark) inText = true
      else if (byte === openBrace) depth++
      else if (byte === closeBrace && --depth === 0) break
    }
    this.#depth = depth
    this.#inText = inText
    this.#isEscaped = isEscaped
    return at
  }

  #element(last: Uint8Array): Uint8Array {
    const parts = [...this.#parts, last]
    this.#parts = []
    this.#partBytes = 0
    this.#elements++
    this.#state = 'after'
    return parts.length === 1 ? last : concatBytes(parts)
  }

  #keep(part: Uint8Array): void {
    this.#parts.push(part)
    this.#partBytes += part.length
    if (this.#partBytes <= longestLine) return
    throw invalidInput(`row ${this.#elements} is longer than ${longestLine} bytes`, {
      hint: 'check for braces that are not closed',
    })
  }

  #isSkipped(byte: number): boolean {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return true
    if (this.#state !== 'before' || byte !== this.#mark[0]) return false
    this.#mark.shift()
    return true
  }

  /** Process a byte that is not inside an element. */
  #between(byte: number): void {
    switch (this.#state) {
      case 'before':
        if (byte !== openBracket) throw notArray(byte)
        this.#state = 'first'
        return
      case 'first':
      case 'next':
        if (byte === openBrace) {
          this.#depth = 1
          this.#state = 'inside'
        } else if (byte === closeBracket && this.#state === 'first') this.#state = 'end'
        else throw invalidInput(`row ${this.#elements} is not a JSON object: it begins with ${shown(byte)}`)
        return
      case 'after':
        if (byte === comma) this.#state = 'next'
        else if (byte === closeBracket) this.#state = 'end'
        else throw invalidInput(`expected "," or "]" after row ${this.#elements - 1}, got ${shown(byte)}`)
        return
      default:
        throw invalidInput(`expected the end of the text after the JSON array, got ${shown(byte)}`)
    }
  }
}

function notArray(byte: number): SheafError {
  const hint =
    byte === openBrace
      ? 'put the objects into an array: [{...}]; for one object per line, the type is application/x-ndjson'
      : undefined
  return invalidInput(`the rows must be a JSON array of objects, but the text begins with ${shown(byte)}`, {
    hint,
  })
}

function shown(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? quote(String.fromCharCode(byte)) : `byte ${byte}`
}
