/** Collects CSV records until the names and types of the columns are known. Then converts records to rows. */

import { typeName } from '../../src/arrow/type-name.js'
import type { DataType, Field } from '../../src/arrow/types.js'
import type { Row } from '../../src/client/table-data.js'
import { columnNotFound, invalidInput, quote, SheafError, schemaMismatch } from '../../src/errors.js'
import { ColumnGuess, readGuessed } from './csv-guess.js'
import type { ReadCsvOptions } from './csv-options.js'
import type { Records } from './csv-records.js'
import { setOwn } from './json-text.js'
import type { NumberedRows, OnBadRow } from './numbered-rows.js'
import { readText } from './read-value.js'

/** Size of the sample from which types are inferred: at most this many rows, and about this many characters. */
const sampleRows = 10_000
const sampleCharacters = 16 * 2 ** 20

/** The options of `readCsv` that determine names and types of columns. */
interface CsvColumnsOptions extends Pick<ReadCsvOptions, 'columns' | 'infer'> {
  /** Columns whose types are given. */
  readonly given: readonly Field[]
  /** Whether the file may have only the given columns. */
  readonly isComplete: boolean
  /** Types of the columns to which the rows are written, by column name. */
  readonly target?: ReadonlyMap<string, DataType> | undefined
  readonly onBadRow?: OnBadRow
}

/** Maximum number of columns. A file that seems to have more is not CSV, or has another delimiter. */
const mostColumns = 10_000

interface Column {
  readonly name: string
  readonly type: DataType
  /** Whether an empty text is a value of the type. Otherwise an empty cell is null. */
  readonly holdsEmpty: boolean
  /** Whether the type is inferred from the first rows. A later cell may not fit it. */
  readonly guessed: boolean
}

const text: DataType = { kind: 'utf8', large: false }

export class CsvColumns {
  readonly #options: CsvColumnsOptions
  readonly #nulls: ReadonlySet<string>
  /** Length of the longest text that means null. A longer cell is not looked up in the set. */
  readonly #longestNull: number
  readonly #nameOf: (line: number) => string
  /** Types that the options specify, by column name. */
  readonly #given: ReadonlyMap<string, DataType>
  /** Types of the columns to which the rows are written, by column name. */
  readonly #target: ReadonlyMap<string, DataType>
  #names: readonly string[] | null = null
  /** The guess of each column; null if the type is given, or if types are not inferred. */
  #guesses: readonly (ColumnGuess | null)[] = []
  #columns: readonly Column[] | null = null
  #waiting: Records[] = []
  #seenRows = 0
  #seenCharacters = 0

  constructor(options: CsvColumnsOptions, nulls: ReadonlySet<string>, nameOf: (line: number) => string) {
    this.#options = options
    this.#given = new Map(options.given.map(({ name, type }) => [name, type]))
    this.#target = options.target ?? new Map()
    this.#nulls = nulls
    this.#longestNull = Math.max(-1, ...Array.from(nulls, text => text.length))
    this.#nameOf = nameOf
    if (options.columns !== undefined) this.#open(options.columns, 'columns')
  }

  /** The names of the columns. Empty before the header row was read. */
  get names(): readonly string[] {
    return this.#names ?? []
  }

  /** Add the next records of the file. */
  add(records: Records): void {
    const body = this.#names === null ? this.#readHeader(records) : records
    this.#waiting.push(body)
    if (this.#columns === null && this.#names !== null) this.#see(body, this.#names.length)
  }

  /** Mark the end of the file: columns whose type is still unknown get it from the rows added so far. */
  end(): void {
    this.#columns ??= (this.#names ?? []).map((name, i) => this.#resolveColumn(name, i))
  }

  /** Return the added records that can be converted to rows, and remove them. Empty until all types are known. */
  take(): readonly Records[] {
    if (this.#columns === null) return []
    const taken = this.#waiting
    this.#waiting = []
    return taken
  }

  /**
   * Convert records to rows. Throws InvalidInput for a record with too few or too many cells, and SchemaValidation for
   * a cell that does not fit its column. With `onBadRow`, leaves such a record out.
   */
  rows({ records, lines }: Records): NumberedRows {
    const columns = this.#columns!
    const { onBadRow } = this.#options
    const rows: Row[] = []
    const linesOfRows: number[] = []
    for (let r = 0; r < records.length; r++) {
      const cells = records[r]!
      const line = lines[r]!
      if (isBlank(cells) && columns.length > 1) continue
      try {
        rows.push(this.#row(cells, columns, line))
        linesOfRows.push(line)
      } catch (error) {
        if (onBadRow === undefined || !(error instanceof SheafError)) throw error
        onBadRow({ line, error, data: cells })
      }
    }
    return { rows, lines: linesOfRows }
  }

  #row(cells: readonly string[], columns: readonly Column[], line: number): Row {
    this.#checkWidth(cells.length, columns.length, line)
    const row: Record<string, unknown> = {}
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i]!
      setOwn(row, column.name, this.#read(cells[i]!, column, line))
    }
    return row
  }

  #isNull(cell: string): boolean {
    return cell.length <= this.#longestNull && this.#nulls.has(cell)
  }

  #read(cell: string, column: Column, line: number): unknown {
    const { type, guessed } = column
    if (this.#isNull(cell)) return null
    if (type.kind === 'utf8') return cell
    if (cell === '' && !column.holdsEmpty) return null
    const value = guessed ? readGuessed(cell, type) : readText(cell, type)
    if (value === undefined) throw this.#misfit(cell, column, line)
    return value
  }

  /** Take the column names from the first record that is not blank. Returns the records after it. */
  #readHeader({ records, lines }: Records): Records {
    const header = records.findIndex(cells => !isBlank(cells))
    if (header === -1) return { records: [], lines: [] }
    const names = records[header]!
    const where = this.#nameOf(lines[header]!)
    if (names.length > mostColumns) {
      throw invalidInput(`${where} has ${names.length} column names; at most ${mostColumns} are allowed`)
    }
    this.#open(
      names.map((name, i) => (this.#isNull(name) || name === '' ? `column${i}` : name)),
      where,
    )
    return { records: records.slice(header + 1), lines: lines.slice(header + 1) }
  }

  #open(names: readonly string[], where: string): void {
    const met = new Set<string>()
    for (const name of names) {
      if (!met.has(name)) met.add(name)
      else {
        throw invalidInput(`${where} has the column name ${quote(name)} twice`, {
          hint: 'remove the header row, and pass other names in the option columns',
        })
      }
    }
    const { isComplete, infer = true } = this.#options
    const known = isComplete ? new Set(this.#given.keys()) : met
    const unknown = (isComplete ? names : [...this.#given.keys()]).find(name => !known.has(name))
    if (unknown !== undefined) throw columnNotFound(unknown, [...known])
    this.#names = names
    this.#guesses = names.map(name => (infer && this.#typeOf(name) === undefined ? new ColumnGuess() : null))
    if (this.#guesses.every(guess => guess === null)) this.end()
  }

  /**
   * Infer types from rows until the sample is large enough. The result does not depend on how the file is divided into
   * blocks.
   */
  #see({ records, lines }: Records, width: number): void {
    for (let r = 0; r < records.length; r++) {
      const cells = records[r]!
      if (isBlank(cells)) continue
      if (this.#options.onBadRow !== undefined && cells.length !== width) continue
      this.#checkWidth(cells.length, width, lines[r]!)
      for (let i = 0; i < width; i++) {
        const cell = cells[i]!
        if (cell === '' || this.#isNull(cell)) continue
        this.#guesses[i]?.see(cell)
        this.#seenCharacters += cell.length
      }
      this.#seenRows++
      if (this.#seenRows < sampleRows && this.#seenCharacters < sampleCharacters) continue
      this.end()
      return
    }
  }

  /** Return the type of a column, unless it must be inferred. */
  #typeOf(name: string): DataType | undefined {
    return this.#given.get(name) ?? this.#target.get(name)
  }

  #resolveColumn(name: string, index: number): Column {
    const guess = this.#guesses[index]?.type() ?? null
    const type = this.#typeOf(name) ?? guess ?? text
    const value = type.kind === 'dictionary' ? type.value : type
    const holdsEmpty = value.kind === 'utf8' || value.kind === 'binary' || value.kind === 'fixed_size_binary'
    return { name, type, holdsEmpty, guessed: guess !== null }
  }

  #checkWidth(width: number, expected: number, line: number): void {
    if (width === expected) return
    throw invalidInput(`${this.#nameOf(line)} has ${width} cells, but the file has ${expected} columns`, {
      hint: 'check the delimiter; a cell that contains the delimiter must be in quotes',
    })
  }

  #misfit(cell: string, { name, type, guessed }: Column, line: number): SheafError {
    const where = this.#nameOf(line)
    return schemaMismatch(
      `${where}: column ${quote(name)} has the type ${typeName(type)}, got ${quote(cell)}`,
      {
        hint: guessed
          ? `the type was inferred from earlier rows: pass types: { ${quote(name)}: 'string' }, a schema, or infer: false`
          : undefined,
      },
    )
  }
}

function isBlank(cells: readonly string[]): boolean {
  return cells.length === 1 && cells[0] === ''
}
