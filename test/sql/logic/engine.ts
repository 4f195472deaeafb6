/** What the scripts are run on. */
import type { DataType, Schema } from '../../../src/arrow/types.js'

export interface Query {
  /** null: one row without columns. */
  readonly table: string | null
  readonly where: string | null
  readonly outputs: readonly string[]
  readonly groupBy: readonly string[]
  readonly distinct: boolean
  /** By number of the output. */
  readonly orderBy: readonly {
    readonly output: number
    readonly ascending: boolean
    readonly nullsFirst: boolean
  }[]
  readonly limit: number | null
  readonly offset: number
}

export interface Answer {
  readonly types: readonly DataType[]
  /** Values as `columnValues` (src/arrow/values.ts) gives them, 64-bit integers as bigint. */
  readonly rows: readonly (readonly unknown[])[]
}

export type Row = Readonly<Record<string, unknown>>

export interface Engine {
  create(table: string, schema: Schema, rows: readonly Row[]): Promise<void>
  insert(table: string, rows: readonly Row[]): Promise<void>
  delete(table: string, predicate: string): Promise<void>
  drop(table: string): Promise<void>
  select(query: Query): Promise<Answer>
  close(): Promise<void>
}
