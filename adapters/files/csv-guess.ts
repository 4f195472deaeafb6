/**
 * Infers the types of CSV columns from their first cells. A column gets a type only if this type reads every cell
 * without a change of its value.
 */
import { parseInstant } from '../../src/arrow/instant.js'
import type { DataType } from '../../src/arrow/types.js'
import { readText } from './read-value.js'

/** The types that a text can have, as bits. The type of a column is the lowest bit that all its cells have. */
const Kind = { Integer: 1, Float: 2, Boolean: 4, Date: 8, Timestamp: 16, Numbers: 32 } as const
const anyKind = 63

const integer = /^(?:-?[1-9]\d{0,18}|0)$/
const float = /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity)$|^NaN$/
const boolean = /^(?:true|false)$/i
const date = /^\d{4}-\d\d-\d\d$/
const timestamp = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/
const numbers = /^\[(.+)\]$/s

/** Digits that identify any float64. A number with more digits might be rounded, so it stays text. */
const floatDigits = 17

/** The types that are still possible for one column after the cells seen so far. */
export class ColumnGuess {
  #kinds = anyKind
  #seen = false

  /** Exclude the types that a cell does not fit. The cell must not be null or empty. */
  see(text: string): void {
    this.#seen = true
    if (this.#kinds === 0) return
    this.#kinds &= kindsOf(text)
  }

  /**
   * Return the inferred type: int64, float64, bool, date32, timestamp(ms) or list<float64>. Return null, which means
   * text, if no type fits all cells or there were no cells.
   *
   * Values stay text if any of these types would change them:
   * - numbers with leading zeros, or with more digits than a float64 has
   * - integers beyond int64, and integers beyond 2^53 in a column with floats
   * - times with digits below a millisecond
   */
  type(): DataType | null {
    if (!this.#seen) return null
    switch (this.#kinds & -this.#kinds) {
      case Kind.Integer:
        return { kind: 'int', bits: 64, signed: true }
      case Kind.Float:
        return { kind: 'float', bits: 64 }
      case Kind.Boolean:
        return { kind: 'bool' }
      case Kind.Date:
        return { kind: 'date', unit: 'day' }
      case Kind.Timestamp:
        return { kind: 'timestamp', unit: 'ms', timezone: null }
      case Kind.Numbers: {
        const child = { name: 'item', type: { kind: 'float', bits: 64 }, nullable: true } as const
        return { kind: 'list', large: false, child }
      }
      default:
        return null
    }
  }
}

/**
 * Read a cell of a column with an inferred type, also after the sample. Returns undefined if the inference would not
 * give the text this type.
 */
export function readGuessed(text: string, type: DataType): unknown {
  if (type.kind === 'int') return integer.test(text) && fitsInt64(text) ? BigInt(text) : undefined
  if (type.kind === 'float') return isFloat(text) ? Number(text) : undefined
  if (type.kind === 'list') return readNumbers(text)
  return readText(text, type)
}

function kindsOf(text: string): number {
  if (integer.test(text)) return (fitsInt64(text) ? Kind.Integer : 0) | (isFloat(text) ? Kind.Float : 0)
  if (isFloat(text)) return Kind.Float
  if (boolean.test(text)) return Kind.Boolean
  if (date.test(text)) return parseInstant(text, 'ms') === null ? 0 : Kind.Date | Kind.Timestamp
  if (timestamp.test(text)) return parseInstant(text, 'ms') === null ? 0 : Kind.Timestamp
  return readNumbers(text) === undefined ? 0 : Kind.Numbers
}

function fitsInt64(text: string): boolean {
  return text.length < 19 || BigInt.asIntN(64, BigInt(text)) === BigInt(text)
}

function isFloat(text: string): boolean {
  if (!float.test(text)) return false
  if (text.length < 16 && !/e/i.test(text)) return true
  const number = Number(text)
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(number)
  const digits = text
    .replace(/e.*/i, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '')
  const isInRange = Number.isFinite(number) && (number !== 0 || digits === '')
  return isInRange && digits.length <= floatDigits
}

/** Maximum length of a number that a float64 represents, whatever its digits are. */
const shortNumber = 15

/** Return whether a text is in brackets, and has only digits, signs, points, commas and blanks, and no long number. */
function hasShortNumbers(text: string): boolean {
  if (text.charCodeAt(0) !== 0x5b || text.charCodeAt(text.length - 1) !== 0x5d) return false
  let length = 0
  for (let i = 1; i < text.length - 1; i++) {
    const code = text.charCodeAt(i)
    const isDigit = code >= 0x30 && code <= 0x39
    if (code === 0x2c) length = 0
    else if (isDigit || code === 0x2d || code === 0x2e || code === 0x20) length++
    else return false
    if (length > shortNumber) return false
  }
  return true
}

/**
 * Parse a JSON array of at least one number. Returns undefined for any other text, and if a float64 would round a
 * number.
 */
function readNumbers(text: string): number[] | undefined {
  // The common case, in less time: `JSON.parse` and `float` accept the same numbers without exponents.
  if (hasShortNumbers(text)) {
    try {
      const read: number[] = JSON.parse(text)
      return read.length > 0 ? read : undefined
    } catch {
      return undefined
    }
  }
  const inside = numbers.exec(text)?.[1]
  if (inside === undefined) return undefined
  const read: number[] = []
  for (const part of inside.split(',')) {
    const number = part.trim()
    if (!/^-?\d/.test(number) || !isFloat(number)) return undefined
    read.push(Number(number))
  }
  return read
}
