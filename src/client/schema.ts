/** Schemas that callers write as text, and the TypeScript types of their rows. */
import type { RowOfArrowSchema } from '../arrow/arrow-row-type.js'
import type { RowOfFields, Values } from '../arrow/row-type.js'
import { typeFromText } from '../arrow/type-text.js'
import type { DataType, Field, Schema } from '../arrow/types.js'
import { invalidInput, quote } from '../errors.js'
import { given } from '../protocol/shape.js'
import type { Row, RowInput } from './table-data.js'

/**
 * Types of columns by name. A type is a text, an object of columns (a struct), or an array with one type (a list).
 *
 *     { id: 'int64!', tags: 'string[]', meta: { lang: 'string' }, parts: [{ from: 'int32', to: 'int32' }] }
 */
export interface Columns {
  readonly [name: string]: ColumnText
}

/** The type of a column in the argument of `schema`. */
export type ColumnText = string | Columns | readonly [string | Columns]

declare const columnsOf: unique symbol

/** A schema, together with the type `C` of the argument of `schema`. `C` exists only for the compiler. */
export interface TypedSchema<C extends Columns = Columns> extends Schema {
  readonly [columnsOf]?: C
}

/** A schema as an argument: the result of `schema`, plain data, or a Schema of any version of apache-arrow. */
export type SchemaInput = Schema | ArrowSchema

/** Accepts any value. The code that uses the schema checks it, and throws `SchemaValidation`. */
export const schemaShape = given<SchemaInput>('a schema', () => true)

/** The members that this module uses of a Schema of any version of apache-arrow. */
interface ArrowSchema {
  readonly fields: readonly {
    readonly name: string
    readonly type: { readonly typeId: number }
    readonly nullable: boolean
  }[]
  readonly metadata: ReadonlyMap<string, string>
}

/**
 * Make a schema from texts of the types of its columns. TypeScript derives the types of the rows from the schema
 * (`RowOf`). A column may be null unless its type ends in `!`: then `| null` is left out of the type of its values.
 *
 * | text of the type | type of the values that are read |
 * |---|---|
 * | `bool` | boolean |
 * | `int8` to `int32`, `uint8` to `uint32`, `float16` to `float64` | number |
 * | `int64`, `uint64` | number, or bigint with the option `int64: 'bigint'` |
 * | `decimal(10, 2)` | string, so that all digits are kept |
 * | `string` | string |
 * | `binary`, `binary(16)` | Uint8Array |
 * | `date`, `timestamp`, `timestamp(ms, UTC)` | Date |
 * | `timestamp(us)`, `timestamp(ns)` | Date, or bigint (a number of units) if a Date cannot hold the value |
 * | `time`, `time(us)` | number of units since midnight; with `us` or `ns` a number or bigint, as for int64 |
 * | `duration`, `duration(us)` | number or bigint of units, as for int64 |
 * | `vector(768)`, `vector(768, int8)` | Float32Array, or the typed array of the elements; `float16` gives Float32Array |
 * | `string[]` | array whose elements may be null |
 * | `string![]`, `string![]!` | array without null elements; with the second `!`, the array is not null either |
 * | `map(string, int64)` | array of [key, value] pairs |
 * | an object of columns, `{ lang: 'string' }` | object |
 * | an array with one type, `[{ from: 'int32' }]` | array |
 *
 * Units of times are `s`, `ms` (default), `us` and `ns`. Writes also accept other values of the same meaning, for example
 * arrays for vectors and ISO 8601 texts for dates (`RowInput`).
 *
 * Throws `InvalidInput` for a text that is not a type. The message has the right form.
 *
 * ```js
 * const docs = await ns.createTable('docs', [], {
 *   schema: schema({ id: 'int64!', title: 'string', tags: 'string[]', vector: 'vector(768)' }),
 * })
 * ```
 */
export function schema<const C extends Columns>(columns: C): TypedSchema<C> {
  return { fields: fieldsOf(columns, 'schema') }
}

function fieldsOf(columns: unknown, place: string): readonly Field[] {
  if (!isColumns(columns)) {
    throw invalidInput(`${place}: expected an object of columns, got ${quote(columns)}`, {
      hint: "write schema({ id: 'int64!', title: 'string' })",
    })
  }
  return Object.entries(columns).map(([name, column]) =>
    fieldOf(name, column, `${place}: column ${quote(name)}`),
  )
}

function fieldOf(name: string, column: unknown, place: string): Field {
  if (typeof column === 'string') return { name, ...typeFromText(column, place) }
  if (Array.isArray(column)) {
    if (column.length !== 1) {
      throw invalidInput(
        `${place}: a list must have exactly one type for its elements, got ${quote(column)}`,
        {
          hint: "write ['string'] or [{ from: 'int32' }]",
        },
      )
    }
    const type: DataType = { kind: 'list', large: false, child: fieldOf('item', column[0], place) }
    return { name, type, nullable: true }
  }
  return { name, type: { kind: 'struct', children: fieldsOf(column, place) }, nullable: true }
}

function isColumns(value: unknown): value is Columns {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// ---- the types of rows

/**
 * The TypeScript type of the rows of a schema. The schema is the result of `schema`, an object declared `as const`, or
 * a Schema of apache-arrow. `Int64` is the type of 64-bit integers; default: number. Columns without `!` may be null.
 * `schema` lists the types of the values.
 *
 * ```ts
 * const docs = schema({ id: 'int64!', title: 'string' })
 * type Doc = RowOf<typeof docs> // { readonly id: number; readonly title: string | null }
 * ```
 */
export type RowOf<S, Int64 = number, Decimal = string> =
  S extends TypedSchema<infer C>
    ? [Columns] extends [C]
      ? RowOfFields<S, { readonly int64: Int64; readonly decimal: Decimal }>
      : RowOfColumns<C, { readonly int64: Int64; readonly decimal: Decimal }>
    : RowOfArrowSchema<S, { readonly int64: Int64; readonly decimal: Decimal }>

type RowOfColumns<C extends Columns, As extends Values> = { readonly [N in keyof C]: CellOfText<C[N], As> }

type CellOfText<T, As extends Values> = T extends string
  ? T extends `${infer Type}!`
    ? ValueOfText<Trimmed<Type>, As>
    : ValueOfText<Trimmed<T>, As> | null
  : T extends readonly [infer E]
    ? readonly CellOfText<E, As>[] | null
    : T extends Columns
      ? RowOfColumns<T, As> | null
      : never

type ValueOfText<T extends string, As extends Values> = T extends `${infer E}[]`
  ? readonly CellOfText<Trimmed<E>, As>[]
  : T extends `${infer Name}(${infer A})`
    ? ValueWithArguments<Lowercase<Trimmed<Name>>, A, As>
    : ValueOfName<Lowercase<T>, As>

type ValueOfName<N extends string, As extends Values> = N extends keyof PlainValues<As>
  ? PlainValues<As>[N]
  : unknown

interface PlainValues<As extends Values> {
  readonly bool: boolean
  readonly int8: number
  readonly int16: number
  readonly int32: number
  readonly int64: As['int64']
  readonly uint8: number
  readonly uint16: number
  readonly uint32: number
  readonly uint64: As['int64']
  readonly float16: number
  readonly float32: number
  readonly float64: number
  readonly string: string
  readonly binary: Uint8Array
  readonly date: Date
  readonly timestamp: Date
  readonly time: number
  readonly duration: As['int64']
}

type ValueWithArguments<N extends string, A extends string, As extends Values> = N extends 'binary'
  ? Uint8Array
  : N extends 'decimal'
    ? As['decimal']
    : N extends 'timestamp'
      ? FirstOf<A> extends 's' | 'ms'
        ? Date
        : Date | bigint
      : N extends 'time'
        ? FirstOf<A> extends 's' | 'ms'
          ? number
          : As['int64']
        : N extends 'duration'
          ? As['int64']
          : N extends 'vector'
            ? VectorOf<A>
            : N extends 'map'
              ? A extends `${infer K},${infer V}`
                ? readonly (readonly [ValueOfText<Trimmed<K>, As>, CellOfText<Trimmed<V>, As>])[]
                : unknown
              : unknown

interface Vectors {
  readonly float16: Float32Array
  readonly float32: Float32Array
  readonly float64: Float64Array
  readonly int8: Int8Array
  readonly int16: Int16Array
  readonly int32: Int32Array
  readonly uint8: Uint8Array
  readonly uint16: Uint16Array
  readonly uint32: Uint32Array
}

type VectorOf<A extends string> = A extends `${string},${infer E}`
  ? Trimmed<E> extends keyof Vectors
    ? Vectors[Trimmed<E>]
    : readonly unknown[]
  : Float32Array

type FirstOf<A extends string> = A extends `${infer First},${string}` ? Trimmed<First> : Trimmed<A>

type Trimmed<T extends string> = T extends ` ${infer R}`
  ? Trimmed<R>
  : T extends `${infer R} `
    ? Trimmed<R>
    : T

/** The type of rows to write to a table with the schema `S`. A decimal may be a number. */
export type InputOf<S> = RowInput<RowOf<S, number, string | number>>

/** The type of the rows that `readCsv` and `readJsonLines` return for a table with the schema `S`. */
export type RowsFor<S> = string extends keyof RowOf<S> ? Row : RowInput<RowOf<S>>

/**
 * The type of the rows of a table that was created from rows of type `I`, without a schema. Numbers and bigints are
 * read as numbers. Arrays of numbers are read as Float32Array if the name of the column means a vector (`VectorName`).
 */
export type InferredRow<I extends object, Int64 = number> = [KeysOf<I>] extends [never]
  ? Row
  : string extends KeysOf<I>
    ? Row
    : { readonly [K in KeysOf<I> & string]: InferredCell<CellAt<I, K>, K, Int64> }

/** The keys of all members of a union. */
type KeysOf<I> = I extends unknown ? keyof I : never

/** The type of the values under a key. It includes null if a member of the union does not have the key. */
type CellAt<I, K> = I extends unknown ? (K extends keyof I ? I[K] : null) : never

type InferredCell<V, K extends string, Int64> =
  | InferredValue<Exclude<V, null | undefined>, K, Int64>
  | (null extends V ? null : undefined extends V ? null : never)

type InferredValue<V, K extends string, Int64> = unknown extends V
  ? unknown
  : V extends number | bigint
    ? V extends bigint
      ? Int64
      : number
    : V extends string
      ? string
      : V extends boolean
        ? boolean
        : V extends Date | Uint8Array | Float32Array | Float64Array | Int8Array
          ? V
          : V extends readonly (infer E)[]
            ? K extends VectorName
              ? Float32Array
              : readonly InferredCell<E, '', Int64>[]
            : V extends object
              ? InferredRow<V, Int64>
              : unknown

/** Names of columns whose arrays of numbers become vectors. */
type VectorName = 'vector' | 'embedding' | `${string}_vector` | `${string}_embedding`
