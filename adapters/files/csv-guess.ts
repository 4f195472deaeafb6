/** The types of CSV columns, from their first cells: a type only where every cell is plainly of it. */
import { parseInstant } from '../../src/arrow/instant.js'
import type { DataType } from '../../src/arrow/types.js'
import { readText } from './read-value.js'

/** What a text may be, as bits: the lowest that is left of a column is its type. */
const Kind = { Integer: 1, Float: 2, Boolean: 4, Date: 8, Timestamp: 16, Numbers: 32 } as const
const anyKind = 63

const integer = /^(?:-?[1-9]\d{0,18}|0)$/
const float = /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity)$|^NaN$/
const boolean = /^(?:true|false)$/i
const date = /^\d{4}-\d\d-\d\d$/
const timestamp = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/
const numbers = /^\[(.+)\]$/s

/** The shortest text of a float has no more digits; of one with more some would be lost. */
const floatDigits = 17

/** What one column may be after the cells seen so far. */
export class ColumnGuess {
  #kinds = anyKind
  #seen = false

  /** Takes in a cell that is not null and not empty. */
  see(text: string): void {
    this.#seen = true
    if (this.#kinds === 0) return
    this.#kinds &= kindsOf(text)
  }

  /**
   * int64, float64, bool, date32, timestamp(ms) or list<float64>; null where none holds all cells, or there were none:
   * text. Texts with leading zeros, integers past int64 or past 2^53 among floats, numbers of more digits than a float
   * has and times finer than a millisecond are text: as any other type they would be changed.
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

/** A later cell of a column whose type was guessed; undefined where it would have been guessed otherwise. */
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

/** The numbers of a JSON array that holds one or more, and nothing else. Undefined also where a float would round one. */
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
