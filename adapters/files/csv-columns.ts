/** The columns of a CSV file: their names and types as soon as they are known, and its records as rows of them. */
import { typeFromJson } from '../../src/arrow/schema-json.js'
import { typeName } from '../../src/arrow/type-name.js'
import type { DataType } from '../../src/arrow/types.js'
import { columnNotFound, invalidInput, quote, type SheafError, schemaMismatch } from '../../src/errors.js'
import type { Row } from '../../src/namespace/table-data.js'
import { ColumnGuess, readGuessed } from './csv-guess.js'
import type { Records } from './csv-records.js'
import { setOwn } from './json-text.js'
import type { ReadCsvOptions } from './read-csv.js'
import { readText } from './read-value.js'

/** Rows from which types are inferred, and what they may hold in characters. */
const sampleRows = 10_000
const sampleCharacters = 16 * 2 ** 20

interface Column {
  readonly name: string
  readonly type: DataType
  /** Whether an empty text is a value of the type. */
  readonly holdsEmpty: boolean
  /** Whether the type is a guess, which later cells may show to be wrong. */
  readonly guessed: boolean
}

const text: DataType = { kind: 'utf8', large: false }

export class CsvColumns {
  readonly #options: ReadCsvOptions
  readonly #emptyIsNull: boolean
  readonly #nameOf: (line: number) => string
  #names: readonly string[] | null = null
  /** One per column whose type is to be guessed, while it is. */
  #guesses: readonly (ColumnGuess | null)[] = []
  #columns: readonly Column[] | null = null
  #waiting: Records[] = []
  #seenRows = 0
  #seenCharacters = 0

  constructor(options: ReadCsvOptions, emptyIsNull: boolean, nameOf: (line: number) => string) {
    this.#options = options
    this.#emptyIsNull = emptyIsNull
    this.#nameOf = nameOf
    if (options.columns !== undefined) this.#open(options.columns, 'columns')
  }

  /** Takes in the next records. */
  add(records: Records): void {
    const body = this.#names === null ? this.#readHeader(records) : records
    this.#waiting.push(body)
    if (this.#columns === null && this.#names !== null) this.#see(body, this.#names.length)
  }

  /** No more records come: what was seen says the types. */
  end(): void {
    this.#columns ??= (this.#names ?? []).map((name, i) => this.#settle(name, i))
  }

  /** The records of which rows can be made. */
  take(): readonly Records[] {
    if (this.#columns === null) return []
    const taken = this.#waiting
    this.#waiting = []
    return taken
  }

  /** Throws codes 13 and 20 for records that do not fit the columns. */
  rows({ cells, ends, lines }: Records): Row[] {
    const columns = this.#columns!
    const rows: Row[] = []
    for (let r = 0, start = 0; r < ends.length; start = ends[r++]!) {
      const isBlank = ends[r] === start
      if (isBlank && columns.length > 1) continue
      if (!isBlank) this.#checkWidth(ends[r]! - start, columns.length, lines[r]!)
      const row: Record<string, unknown> = {}
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i]!
        const cell = isBlank ? null : cells[start + i]!
        setOwn(row, column.name, cell === null ? null : this.#read(cell, column, lines[r]!))
      }
      rows.push(row)
    }
    return rows
  }

  #read(cell: string, column: Column, line: number): unknown {
    const { type, guessed } = column
    if (type.kind === 'utf8') return cell
    if (cell === '' && this.#emptyIsNull && !column.holdsEmpty) return null
    const value = guessed ? readGuessed(cell, type) : readText(cell, type)
    if (value === undefined) throw this.#misfit(cell, column, line)
    return value
  }

  /** Takes the names out of the first record that is not blank. */
  #readHeader({ cells, ends, lines }: Records): Records {
    const first = ends.findIndex(end => end > 0)
    if (first === -1) return { cells: [], ends: [], lines: [] }
    const width = ends[first]!
    const names = cells.slice(0, width).map((cell, i) => (cell === null || cell === '' ? `column${i}` : cell))
    this.#open(names, this.#nameOf(lines[first]!))
    return {
      cells: cells.slice(width),
      ends: ends.slice(first + 1).map(end => end - width),
      lines: lines.slice(first + 1),
    }
  }

  #open(names: readonly string[], where: string): void {
    const twice = names.find((name, i) => names.indexOf(name) < i)
    if (twice !== undefined) {
      throw invalidInput(`${where} names the column ${quote(twice)} twice`, {
        hint: 'take the header row out and pass columns',
      })
    }
    const { schema, types = {}, infer = true } = this.#options
    const known = schema === undefined ? names : schema.fields.map(field => field.name)
    const unknown = [...names, ...Object.keys(types)].find(name => !known.includes(name))
    if (unknown !== undefined) throw columnNotFound(unknown, known)
    const isSaid = (name: string) => schema !== undefined || Object.hasOwn(types, name)
    this.#names = names
    this.#guesses = names.map(name => (infer && !isSaid(name) ? new ColumnGuess() : null))
    if (this.#guesses.every(guess => guess === null)) this.end()
  }

  /** Looks at rows until there are enough, wherever the text was cut into blocks. */
  #see({ cells, ends, lines }: Records, width: number): void {
    for (let r = 0, start = 0; r < ends.length; start = ends[r++]!) {
      if (ends[r] === start) continue
      this.#checkWidth(ends[r]! - start, width, lines[r]!)
      for (let i = 0; i < width; i++) {
        const cell = cells[start + i]!
        if (cell === null || cell === '') continue
        this.#guesses[i]?.see(cell)
        this.#seenCharacters += cell.length
      }
      this.#seenRows++
      if (this.#seenRows < sampleRows && this.#seenCharacters < sampleCharacters) continue
      this.end()
      return
    }
  }

  #settle(name: string, index: number): Column {
    const { schema, types = {} } = this.#options
    const said = Object.hasOwn(types, name)
      ? typeFromJson(types[name])
      : schema?.fields.find(field => field.name === name)?.type
    const guess = this.#guesses[index]?.type() ?? null
    const type = said ?? guess ?? text
    const value = type.kind === 'dictionary' ? type.value : type
    const holdsEmpty = value.kind === 'utf8' || value.kind === 'binary' || value.kind === 'fixed_size_binary'
    return { name, type, holdsEmpty, guessed: guess !== null }
  }

  #checkWidth(width: number, expected: number, line: number): void {
    if (width === expected) return
    throw invalidInput(`${this.#nameOf(line)} has ${width} cells where there are ${expected} columns`, {
      hint: 'check the delimiter, and quotes around cells that hold it',
    })
  }

  #misfit(cell: string, { name, type, guessed }: Column, line: number): SheafError {
    const where = this.#nameOf(line)
    return schemaMismatch(`${where}: column ${quote(name)} is ${typeName(type)}, got ${quote(cell)}`, {
      hint: guessed
        ? `rows before it are all of that type: pass types: { ${quote(name)}: 'utf8' }, a schema, or infer: false`
        : undefined,
    })
  }
}
