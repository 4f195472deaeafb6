/** TypeScript types of the rows that `values.ts` returns for a schema. */
import type { DataType, Field, IntType, Schema } from './types.js'

/** The types of values that have several representations. */
export interface Values {
  readonly int64: unknown
  readonly decimal: unknown
}

/**
 * The type of the rows of a schema that is declared `as const`. `As`: the types of 64-bit integers and of
 * decimals. The type of a nullable column includes null. A vector is a typed array. If an element is null, the vector is a plain
 * array, so the type of a vector with nullable elements includes both.
 *
 *     const schema = {
 *       fields: [{ name: 'title', type: { kind: 'utf8', large: false }, nullable: true }],
 *     } as const
 *     type Row = RowOfFields<typeof schema> // { readonly title: string | null }
 */
export type RowOfFields<S extends Schema, As extends Values = { int64: number; decimal: string }> = FieldsOf<
  S['fields'],
  As
>

/**
 * The type of an object with the given fields. If the names of the fields are unknown, any key and value is allowed.
 */
type FieldsOf<F extends readonly Field[], As extends Values> = string extends F[number]['name']
  ? Readonly<Record<string, unknown>>
  : { readonly [N in F[number]['name']]: CellOf<Extract<F[number], { readonly name: N }>, As> }

type CellOf<F extends Field, As extends Values> = F['nullable'] extends false
  ? ValueOf<F['type'], As>
  : ValueOf<F['type'], As> | null

type ValueOf<T extends DataType, As extends Values> = T extends IntType
  ? T['bits'] extends 64
    ? As['int64']
    : number
  : T extends { readonly kind: 'list' }
    ? readonly CellOf<T['child'], As>[]
    : T extends { readonly kind: 'fixed_size_list' }
      ? EqualListOf<T['child'], As>
      : T extends { readonly kind: 'struct' }
        ? FieldsOf<T['children'], As>
        : T extends { readonly kind: 'map' }
          ? readonly EntryOf<T['child']['type'], As>[]
          : T extends { readonly kind: 'dictionary' }
            ? ValueOf<T['value'], As>
            : T extends { readonly kind: 'timestamp' | 'time' | 'interval'; readonly unit: infer U }
              ? UnitValues<As>[T['kind']][U & keyof UnitValues<As>[T['kind']]]
              : T extends { readonly kind: infer K extends keyof PlainValues<As> }
                ? PlainValues<As>[K]
                : unknown

interface PlainValues<As extends Values> {
  readonly null: null
  readonly bool: boolean
  readonly float: number
  readonly utf8: string
  readonly binary: Uint8Array
  readonly fixed_size_binary: Uint8Array
  readonly decimal: As['decimal']
  readonly date: Date
  readonly duration: As['int64']
}

/**
 * Types of the values of temporal types, by their unit. A timestamp in us or ns is a bigint if a Date cannot represent
 * it exactly.
 */
interface UnitValues<As extends Values> {
  readonly timestamp: { s: Date; ms: Date; us: Date | bigint; ns: Date | bigint }
  readonly time: { s: number; ms: number; us: As['int64']; ns: As['int64'] }
  readonly interval: {
    year_month: number
    day_time: { readonly days: number; readonly milliseconds: number }
    month_day_nano: { readonly months: number; readonly days: number; readonly nanoseconds: bigint }
  }
}

type EqualListOf<F extends Field, As extends Values> =
  NumbersOf<F['type']> extends infer Numbers
    ? [Numbers] extends [never]
      ? readonly CellOf<F, As>[]
      : F['nullable'] extends false
        ? Numbers
        : Numbers | readonly CellOf<F, As>[]
    : never

/** The typed array of a vector. `never` if the elements are not floats or integers of at most 32 bits. */
type NumbersOf<T extends DataType> = T extends { readonly kind: 'float' }
  ? T['bits'] extends 64
    ? Float64Array
    : Float32Array
  : T extends IntType
    ? T['bits'] extends 64
      ? never
      : T['signed'] extends false
        ? { 8: Uint8Array; 16: Uint16Array; 32: Uint32Array }[T['bits'] & (8 | 16 | 32)]
        : { 8: Int8Array; 16: Int16Array; 32: Int32Array }[T['bits'] & (8 | 16 | 32)]
    : never

type EntryOf<T extends DataType, As extends Values> = T extends {
  readonly kind: 'struct'
  readonly children: readonly [infer Key extends Field, infer Value extends Field]
}
  ? readonly [CellOf<Key, As>, CellOf<Value, As>]
  : readonly [unknown, unknown]
