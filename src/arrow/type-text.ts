/**
 * Parses types of columns that callers of the API write as text, for example `int64!`, `string[]`, `vector(768)` or
 * `timestamp(us, UTC)`. The TypeScript types in client/schema-types.ts parse the same grammar at compile time.
 *
 *     column  = type [ "!" ]                             "!": not nullable
 *     type    = name [ "(" argument { "," argument } ")" ] { [ "!" ] "[]" }
 */
import { invalidInput, nearestName, quote, type SheafError } from '../errors.js'
import { isDecimal } from './decimal.js'
import type { DataType, Field, IntType, TimeUnit } from './types.js'

/** A parsed type, and whether the column is nullable. */
interface ColumnTypeText {
  readonly type: DataType
  readonly nullable: boolean
}

/**
 * Parse the type of a column.
 *
 * | text | type |
 * |---|---|
 * | `bool`, `string`, `binary`, `date` | the Arrow type bool, utf8, binary or date32 |
 * | `int8` to `int64`, `uint8` to `uint64`, `float16`, `float32`, `float64` | a number |
 * | `timestamp`, `timestamp(us)`, `timestamp(us, UTC)` | an instant in `s`, `ms` (default), `us` or `ns` |
 * | `time`, `time(us)`; `duration`, `duration(us)` | a time of day or a duration; default unit: `ms` |
 * | `decimal(10, 2)` | a decimal with 10 digits, of which 2 follow the point |
 * | `binary(16)` | fixed_size_binary of 16 bytes |
 * | `vector(768)`, `vector(768, float16)` | fixed_size_list of 768 numbers; default: float32 |
 * | `map(string, int64)` | a map with the types of keys and values |
 * | `string[]`, `string![]` | a list with nullable elements; a list with elements that are not nullable |
 * | any type followed by `!` | the type, not nullable |
 *
 * A timestamp without a timezone is in local time.
 *
 * `place`: name of the column for messages. Throws `InvalidInput` for any other text. The hint shows a valid form.
 */
export function typeFromText(text: string, place: string): ColumnTypeText {
  const parser = new Parser(text, place)
  const column = parser.column()
  parser.end()
  return column
}

const int = (bits: IntType['bits'], signed: boolean): DataType => ({ kind: 'int', bits, signed })

const plain: ReadonlyMap<string, DataType> = new Map<string, DataType>([
  ['bool', { kind: 'bool' }],
  ...([8, 16, 32, 64] as const).flatMap((bits): [string, DataType][] => [
    [`int${bits}`, int(bits, true)],
    [`uint${bits}`, int(bits, false)],
  ]),
  ...([16, 32, 64] as const).map((bits): [string, DataType] => [`float${bits}`, { kind: 'float', bits }]),
  ['string', { kind: 'utf8', large: false }],
  ['date', { kind: 'date', unit: 'day' }],
])

/** By name of a type with arguments: examples of valid texts, for hints. */
const examples: ReadonlyMap<string, string> = new Map([
  ['binary', 'binary or binary(16)'],
  ['timestamp', 'timestamp, timestamp(us) or timestamp(us, UTC)'],
  ['time', 'time or time(us)'],
  ['duration', 'duration or duration(us)'],
  ['decimal', 'decimal(10, 2)'],
  ['vector', 'vector(768) or vector(768, float16)'],
  ['map', 'map(string, int64)'],
])

/** By name of a type in other systems: the text to write instead, for hints. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ...['text', 'varchar', 'char', 'utf8', 'large_string', 'uuid'].map(name => [name, 'string'] as const),
  ...['int', 'integer', 'serial', 'smallint'].map(name => [name, 'int32 or int64'] as const),
  ...['bigint', 'long', 'bigserial'].map(name => [name, 'int64'] as const),
  ...['number', 'double', 'real', 'float', 'halffloat'].map(name => [name, 'float64 or float32'] as const),
  ['boolean', 'bool'],
  ...['blob', 'bytea', 'bytes', 'buffer'].map(name => [name, 'binary'] as const),
  ...['datetime', 'timestamptz'].map(name => [name, 'timestamp or timestamp(ms, UTC)'] as const),
  ...['numeric', 'decimal128'].map(name => [name, 'decimal(10, 2)'] as const),
  ...['fixed_size_list', 'embedding', 'float_vector'].map(name => [name, 'vector(768)'] as const),
  ...['list', 'array'].map(name => [name, 'string[]'] as const),
  ...['json', 'object', 'struct', 'record'].map(
    name => [name, 'an object of columns: { lang: "string" }'] as const,
  ),
  ['interval', 'duration'],
])

const units: readonly string[] = ['s', 'ms', 'us', 'ns'] satisfies readonly TimeUnit[]
const depthMax = 16

class Parser {
  readonly #text: string
  readonly #place: string
  #at = 0
  #depth = 0

  constructor(text: string, place: string) {
    this.#text = text
    this.#place = place
  }

  column(): ColumnTypeText {
    if (++this.#depth > depthMax) throw this.#error(`is nested deeper than ${depthMax} levels`)
    let type = this.#base()
    let nullable = true
    for (;;) {
      if (this.#takes('!')) {
        if (!nullable) throw this.#error('has "!" twice')
        nullable = false
      } else if (this.#takes('[')) {
        if (!this.#takes(']'))
          throw this.#error('has "[" without "]"', 'a list is string[]; a vector is vector(768)')
        type = { kind: 'list', large: false, child: { name: 'item', type, nullable } }
        nullable = true
      } else break
    }
    this.#depth--
    return { type, nullable }
  }

  end(): void {
    this.#skipSpace()
    if (this.#at < this.#text.length) {
      const rest = this.#text.slice(this.#at)
      const type = this.#text.slice(0, this.#at).trim()
      throw this.#error(`has the unexpected text ${quote(rest)}`, nullHint(rest, type))
    }
  }

  #base(): DataType {
    const name = this.#word().toLowerCase()
    const known = plain.get(name)
    if (known !== undefined) {
      if (this.#takes('(')) throw this.#error(`has arguments, but ${name} takes none`)
      return known
    }
    if (!examples.has(name)) throw this.#unknown(name)
    return this.#withArguments(name)
  }

  #withArguments(name: string): DataType {
    if (name === 'map') return this.#map()
    const given = this.#arguments()
    const wrong = () => this.#error(`has wrong arguments`, `write ${examples.get(name)}`)
    const unit = (given[0] ?? 'ms') as TimeUnit
    const hasUnit = units.includes(unit)
    switch (name) {
      case 'binary': {
        if (given.length === 0) return { kind: 'binary', large: false }
        const width = wholeNumber(given[0])
        if (given.length > 1 || width === null) throw wrong()
        return { kind: 'fixed_size_binary', width }
      }
      case 'timestamp':
        if (!hasUnit || given.length > 2) throw wrong()
        return { kind: 'timestamp', unit, timezone: given[1] ?? null }
      case 'time':
      case 'duration':
        if (!hasUnit || given.length > 1) throw wrong()
        return { kind: name, unit }
      case 'decimal': {
        const precision = wholeNumber(given[0])
        const scale = wholeNumber(given[1] ?? '0')
        if (given.length > 2 || precision === null || scale === null) throw wrong()
        const bits = precision > 38 ? 256 : 128
        if (!isDecimal(bits, precision, scale)) throw wrong()
        return { kind: 'decimal', bits, precision, scale }
      }
      default: {
        const size = wholeNumber(given[0])
        const element = plain.get(given[1] ?? 'float32')
        const isNumber = element?.kind === 'float' || element?.kind === 'int'
        if (given.length > 2 || size === null || size === 0 || !isNumber) throw wrong()
        // Elements of type float are nullable, as in Lance. But a stored vector never has null elements
        // (bad-vectors.ts).
        const child: Field = { name: 'item', type: element, nullable: element.kind === 'float' }
        return { kind: 'fixed_size_list', size, child }
      }
    }
  }

  #map(): DataType {
    const wrong = () => this.#error('has wrong arguments', `write ${examples.get('map')}`)
    if (!this.#takes('(')) throw wrong()
    const key = this.column()
    if (!this.#takes(',')) throw wrong()
    const value = this.column()
    if (!this.#takes(')')) throw wrong()
    const children: readonly Field[] = [
      { name: 'key', type: key.type, nullable: false },
      { name: 'value', ...value },
    ]
    const child: Field = { name: 'entries', type: { kind: 'struct', children }, nullable: false }
    return { kind: 'map', keysSorted: false, child }
  }

  /** Parse arguments such as `(a, b)`. Returns their texts, or an empty array if there are no parentheses. */
  #arguments(): readonly string[] {
    if (!this.#takes('(')) return []
    const end = this.#text.indexOf(')', this.#at)
    if (end < 0) throw this.#error('has "(" without ")"')
    const given = this.#text.slice(this.#at, end).split(',')
    this.#at = end + 1
    return given.map(each => each.trim())
  }

  #word(): string {
    this.#skipSpace()
    const [word = ''] = /^[A-Za-z_][A-Za-z_0-9]*/.exec(this.#text.slice(this.#at)) ?? []
    this.#at += word.length
    return word
  }

  #takes(sign: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== sign) return false
    this.#at++
    return true
  }

  #skipSpace(): void {
    while (this.#text[this.#at] === ' ') this.#at++
  }

  #unknown(name: string): SheafError {
    const other = otherNames.get(name)
    if (other !== undefined) return this.#error('is not a type of Sheaf', `write ${other}`)
    const names = [...plain.keys(), ...examples.keys()]
    const near = nearestName(name, names)
    const hint = near === undefined ? `types: ${names.join(', ')}` : `did you mean ${quote(near)}?`
    return this.#error('is not a type', hint)
  }

  #error(what: string, hint?: string): SheafError {
    return invalidInput(`${this.#place}: ${quote(this.#text)} ${what}`, hint === undefined ? {} : { hint })
  }
}

/** Return a hint for a text after a type that says in another way whether the column is nullable. */
function nullHint(rest: string, type: string): string | undefined {
  if (/^(\?|null$)/i.test(rest))
    return `columns are nullable unless their type ends in !: write ${type.replace('!', '')}`
  return /^not null$/i.test(rest) ? `write ${type}!` : undefined
}

/** Parse a text as a whole number from 0 to 2^31-1. Returns null for any other text. */
function wholeNumber(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return null
  const value = Number(text)
  return value <= 0x7fffffff ? value : null
}
