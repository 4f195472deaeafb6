/**
 * Random expressions over random rows, here and in DuckDB: the same values, and the same rows for a condition.
 *
 * What the two mean differently is written differently (sql-grammar.ts): `/` of integers is `//` there, it has no
 * `octet_length` of texts, gives a timestamp for a date and an interval, and rounds where we cut off. Left out: decimals
 * beside floats (it compares doubles), case mappings that change the length, replacing the empty text, overflow and
 * division by zero.
 */
import { afterAll, describe, expect, test } from 'vitest'
import type { Batch, Column } from '../../src/arrow/column.js'
import type { DataType } from '../../src/arrow/types.js'
import { Bitset } from '../../src/primitives/bitset.js'
import { bindExpression } from '../../src/sql/binding/bind.js'
import { evaluate, selectRows } from '../../src/sql/evaluate.js'
import { parseExpression } from '../../src/sql/syntax/parse.js'
import type { Scalar } from '../../src/sql/values/scalar.js'
import { columnOfScalars, scalarAt } from '../../src/sql/values/vector.js'
import { randomFrom } from '../support/clock.js'
import {
  type Duck,
  duckdb,
  microsPerDay,
  openDuck,
  printedDecimal,
  printedInstant,
  printedNumber,
} from './duckdb.js'
import {
  columns,
  type Kind,
  kinds,
  randomTree,
  render,
  smaller,
  type Tree,
  typeNameOf,
} from './sql-grammar.js'

const tables = 12
const rowsEach = 45
const expressionsEach = 500
/** Expressions of one query there. */
const atOnce = 30

/** Failures of one table that are looked into. */
const mostReports = 5

const seed = Number(process.env.SHEAF_SEED ?? 1)

if (duckdb === null) console.log('peers: DuckDB skipped: it cannot be installed or loaded here')

describe.skipIf(duckdb === null)(`expressions are worth what DuckDB says, seed ${seed}`, () => {
  const ducks: Duck[] = []
  afterAll(() => {
    for (const duck of ducks) duck.close()
  })

  test.each(Array.from({ length: tables }, (_, table) => [table]))('table %i', async table => {
    const random = randomFrom(seed * 1000 + table)
    const rows = Array.from({ length: rowsEach }, () => randomRow(random))
    const batch = batchOf(rows)
    const duck = await openDuck(duckdb!)
    ducks.push(duck)
    await fill(duck, rows)
    const trees = Array.from({ length: expressionsEach }, () => {
      const kind = random() < 0.5 ? 'bool' : kinds[Math.floor(random() * kinds.length)]!
      return randomTree(kind, 1 + Math.floor(random() * 4), random)
    })
    const failures: string[] = []
    let refused = 0
    for (let from = 0; from < trees.length; from += atOnce) {
      const some = trees.slice(from, from + atOnce)
      for (const [i, theirs] of (await askAll(duck, some)).entries()) {
        if ('error' in theirs) refused++
        if (same(worth(some[i]!, batch), theirs)) continue
        failures.push(
          failures.length < mostReports ? await report(some[i]!, batch, duck, rows) : 'and another',
        )
      }
    }
    expect(failures.join('\n\n')).toBe('')
    // An expression that both refuse shows nothing.
    expect(refused).toBeLessThan(expressionsEach / 50)
  })
})

/** Values of an expression row by row, or why there are none. */
type Worth = readonly string[] | { readonly error: string }

function same(ours: Worth, theirs: Worth): boolean {
  if ('error' in ours || 'error' in theirs) return 'error' in ours && 'error' in theirs
  return ours.every((value, row) => value === theirs[row])
}

/** Here; a condition is also asked as a filter, of all rows and of every second. */
function worth(tree: Tree, batch: Batch): Worth {
  try {
    const bound = bindExpression(parseExpression(render(tree, 'ours')), batch.schema)
    const column = evaluate(bound, batch)
    const values = Array.from({ length: batch.length }, (_, row) => printed(column, row))
    if (bound.type.kind === 'bool') {
      const half = new Bitset(batch.length)
      for (let row = 0; row < batch.length; row += 2) half.add(row)
      const selected = selectRows(bound, batch)
      const halfSelected = selectRows(bound, batch, half)
      for (const [row, value] of values.entries()) {
        if (selected.has(row) !== (value === 'true'))
          return { error: `row ${row}: ${value}, but as a filter not` }
        if (halfSelected.has(row) !== (value === 'true' && row % 2 === 0)) {
          return { error: `row ${row}: ${value}, but among every second row not` }
        }
      }
    }
    return values
  } catch (error) {
    return { error: String(error) }
  }
}

function printed(column: Column, row: number): string {
  const { type } = column
  const value = scalarAt(column, row)
  if (value === null) return 'null'
  if (type.kind === 'decimal') return printedDecimal(value as bigint, type.scale)
  if (type.kind === 'date')
    return printedInstant((value as bigint) * (type.unit === 'day' ? microsPerDay : 1000n))
  if (type.kind === 'timestamp') return printedInstant(toMicros(value as bigint, type.unit))
  if (typeof value === 'number') return printedNumber(value)
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

function toMicros(value: bigint, unit: 's' | 'ms' | 'us' | 'ns'): bigint {
  return unit === 'ns' ? value / 1000n : value * { s: 1_000_000n, ms: 1000n, us: 1n }[unit]
}

/** There, many expressions in one query; one that fails is found by asking for each. */
async function askAll(duck: Duck, trees: readonly Tree[]): Promise<Worth[]> {
  const list = trees.map(tree => render(tree, 'theirs'))
  try {
    return await duck.columns(`SELECT ${list.join(', ')} FROM t ORDER BY row`)
  } catch (error) {
    if (trees.length === 1) return [{ error: String(error).split('\n')[0]! }]
    const each: Worth[] = []
    for (const tree of trees) each.push(...(await askAll(duck, [tree])))
    return each
  }
}

/** The smallest expression found that differs, in both languages, with one row and both answers. */
async function report(tree: Tree, batch: Batch, duck: Duck, rows: readonly Row[]): Promise<string> {
  let least = tree
  let budget = 300
  search: for (;;) {
    for (const candidate of smaller(least)) {
      if (--budget < 0) break search
      const [theirs] = await askAll(duck, [candidate])
      if (same(worth(candidate, batch), theirs!)) continue
      least = candidate
      continue search
    }
    break
  }
  const ours = worth(least, batch)
  const [theirs] = await askAll(duck, [least])
  const row = 'error' in ours || 'error' in theirs! ? 0 : ours.findIndex((value, i) => value !== theirs![i])
  const show = (answer: Worth) => ('error' in answer ? answer.error : answer[row])
  const text = render(least, 'ours')
  const used = columns.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(text))
  return [
    `ours:   ${text}`,
    `theirs: ${render(least, 'theirs')}`,
    `  row ${row}: ${used.map(({ name }) => `${name} = ${rows[row]!.get(name)}`).join(', ')}`,
    `  here ${show(ours)}`,
    `  there ${show(theirs!)}`,
  ].join('\n')
}

// ---- rows

/** A value as it is written there, `NULL` included, and as we hold it. */
class Cell {
  readonly sql: string
  readonly scalar: Scalar

  constructor(sql: string, scalar: Scalar) {
    this.sql = sql
    this.scalar = scalar
  }

  toString(): string {
    return this.sql
  }
}

type Row = ReadonlyMap<string, Cell>

const decimalType: DataType = { kind: 'decimal', precision: 18, scale: 3, bits: 128 }
const types: Readonly<Record<Kind, DataType>> = {
  bool: { kind: 'bool' },
  int: { kind: 'int', bits: 64, signed: true },
  wide: { kind: 'int', bits: 64, signed: true },
  float: { kind: 'float', bits: 64 },
  text: { kind: 'utf8', large: false },
  date: { kind: 'date', unit: 'day' },
  time: { kind: 'timestamp', unit: 'us', timezone: null },
  decimal: decimalType,
}

function randomRow(random: () => number): Row {
  return new Map(
    columns.map(({ name, kind }) => [
      name,
      random() < 0.2 ? new Cell('NULL', null) : randomCell(kind, random),
    ]),
  )
}

function randomCell(kind: Kind, random: () => number): Cell {
  const choose = <T>(...from: T[]): T => from[Math.floor(random() * from.length)]!
  const between = (least: number, greatest: number) => least + Math.floor(random() * (greatest - least + 1))
  switch (kind) {
    case 'bool': {
      const value = random() < 0.5
      return new Cell(String(value), value)
    }
    case 'int': {
      const value = choose(0, 1, between(-5, 5), between(-50, 50))
      return new Cell(String(value), BigInt(value))
    }
    case 'wide': {
      const value = choose(
        BigInt(between(-5, 5)),
        choose(2n ** 63n - 1n, -(2n ** 63n) + 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 32n, 2n ** 31n),
      )
      return new Cell(`CAST('${value}' AS BIGINT)`, value)
    }
    case 'float': {
      const value = choose(
        between(-3, 3),
        between(-8, 8) / 4,
        (random() - 0.5) * 10,
        choose(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 1e300, 2 ** 53, 0.1),
      )
      return new Cell(`CAST('${Object.is(value, -0) ? '-0' : value}' AS DOUBLE)`, value)
    }
    case 'text': {
      const pieces = Array.from({ length: between(0, 4) }, () =>
        choose('a', 'b', 'A', 'É', 'é', '🎉', '%', '_', ' ', '1'),
      )
      const value = choose(
        pieces.join(''),
        choose('abcdefgh', 'abcdefghi', 'ab', '12', '-7', '', 'a', "it's"),
      )
      return new Cell(`'${value.replaceAll("'", "''")}'`, value)
    }
    case 'date': {
      const days = choose(between(-3, 3), between(19_000, 20_000), between(-40_000, 40_000))
      return new Cell(`(DATE '1970-01-01' + ${days})`, BigInt(days))
    }
    case 'time': {
      const seconds = choose(
        between(-3, 3),
        between(1_600_000_000, 1_750_000_000),
        86_400 * between(-9_000, 20_000),
      )
      const micros = BigInt(seconds) * 1_000_000n + BigInt(choose(0, 1, 999_999, between(0, 999_999)))
      return new Cell(`make_timestamp(CAST(${micros} AS BIGINT))`, micros)
    }
    case 'decimal': {
      const value = choose(0, between(-3, 3) * 1000, between(-5000, 5000), between(-99_999_999, 99_999_999))
      return new Cell(`CAST('${value / 1000}' AS DECIMAL(18, 3))`, BigInt(value))
    }
  }
}

async function fill(duck: Duck, rows: readonly Row[]): Promise<void> {
  const fields = columns.map(({ name, kind }) => `${name} ${name === 'int3' ? 'INTEGER' : typeNameOf(kind)}`)
  await duck.run(`CREATE TABLE t (row INTEGER, ${fields.join(', ')})`)
  const values = rows.map((row, i) => `(${[i, ...row.values()].map(String).join(', ')})`)
  await duck.run(`INSERT INTO t VALUES ${values.join(', ')}`)
}

function batchOf(rows: readonly Row[]): Batch {
  const made = columns.map(({ name, kind }) => {
    const scalars = rows.map(row => row.get(name)!.scalar)
    if (name === 'int3') return columnOfScalars({ kind: 'int', bits: 32, signed: true }, scalars)
    return name === 'text3' ? dictionaryOf(scalars) : columnOfScalars(types[kind], scalars)
  })
  const fields = columns.map(({ name }, i) => ({ name, type: made[i]!.type, nullable: true }))
  return { schema: { fields }, length: rows.length, columns: made }
}

function dictionaryOf(scalars: readonly Scalar[]): Column {
  const entries: Scalar[] = [...new Set(scalars.filter(scalar => scalar !== null))]
  const plain = columnOfScalars(types.text, scalars)
  return {
    ...plain,
    type: {
      kind: 'dictionary',
      index: { kind: 'int', bits: 8, signed: true },
      value: types.text,
      ordered: false,
    },
    values: Int8Array.from(scalars, scalar => Math.max(0, entries.indexOf(scalar))),
    offsets: null,
    dictionary: columnOfScalars(types.text, entries),
  }
}
