/** Infers the types of CSV columns from their first cells. A column gets a type only if every cell plainly has this type. */
import { parseInstant } from '../../src/arrow/instant.js'
import type { DataType } from '../../src/arrow/types.js'
import { readText } from './read-value.js'

/** The types that a text can have, as bits. The lowest bit that all cells of a column share is its type. */
const Kind = { Integer: 1, Float: 2, Boolean: 4, Date: 8, Timestamp: 16, Numbers: 32 } as const
const anyKind = 63

const integer = /^(?:-?[1-9]\d{0,18}|0)$/
const float = /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity)$|^NaN$/
const boolean = /^(?:true|false)$/i
const date = /^\d{4}-\d\d-\d\d$/
const timestamp = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/
const numbers = /^\[(.+)\]$/s

/** The shortest text of a float64 has at most this many digits. A text with more would lose some. */
const floatDigits = 17

/** The types that one column can have after the cells seen so far. */
export class ColumnGuess {
  #kinds = anyKind
  #seen = false

  /** Note a cell that is neither null nor empty. */
  see(text: string): void {
    this.#seen = true
    if (this.#kinds === 0) return
    this.#kinds &= kindsOf(text)
  }

  /**
   * Return int64, float64, bool, date32, timestamp(ms) or list<float64>; null for text: no type fits all cells, or there were none. Some
   * values stay text because any other type would change them: numbers with leading zeros, integers beyond int64, integers beyond 2^53
   * among floats, numbers with more digits than a float64 has, and times finer than a millisecond.
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

/** Read a later cell of a column with an inferred type. Returns undefined if inference would not have chosen the type for this text. */
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

/** Return the numbers of a JSON array of one number or more. Undefined for anything else, and if a float64 would round one. */
function readNumbers(text: string): number[] | undefined {
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
