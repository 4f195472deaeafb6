/** DuckDB as a second opinion on what expressions are worth. */
import type * as Duckdb from '@duckdb/node-api'

/** The package, or null where there is no build of it for this platform. */
export const duckdb: typeof Duckdb | null = await import('@duckdb/node-api').catch(() => null)

export interface Duck {
  run(sql: string): Promise<void>
  /** Columns of an answer, values as `printed` has them. */
  columns(sql: string): Promise<string[][]>
  close(): void
}

export async function openDuck({ DuckDBInstance }: typeof Duckdb): Promise<Duck> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  await connection.run('SET threads TO 1')
  // It rewrites `constant <> date_trunc(..)` into TRUE for NULL, too.
  await connection.run('PRAGMA disable_optimizer')
  return {
    async run(sql) {
      await connection.run(sql)
    },
    async columns(sql) {
      const reader = await connection.runAndReadAll(sql)
      return reader.getColumns().map(column => column.map(printed))
    },
    close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

function printed(value: Duckdb.DuckDBValue): string {
  if (value === null) return 'null'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return printedNumber(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if ('days' in value && !('months' in value)) return printedInstant(BigInt(value.days) * microsPerDay)
  if ('scale' in value) return printedDecimal(value.value, value.scale)
  if ('micros' in value && !('months' in value)) return printedInstant(value.micros)
  throw new Error(`no expression gives ${String(value)}`)
}

export const microsPerDay = 86_400_000_000n

/** Whole numbers read the same whatever they are held in; so do 0 and -0, which no comparison tells apart. */
export function printedNumber(value: number): string {
  return Number.isInteger(value) ? String(BigInt(value)) : String(value)
}

export function printedDecimal(value: bigint, scale: number): string {
  const sign = value < 0n ? '-' : ''
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  const fraction = scale === 0 ? '' : digits.slice(-scale).replace(/0+$/, '')
  return `${sign}${digits.slice(0, digits.length - scale)}${fraction === '' ? '' : `.${fraction}`}`
}

/** Dates and times of all units alike. */
export function printedInstant(micros: bigint): string {
  return `${micros} us`
}
