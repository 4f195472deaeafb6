/** Types derived from `R`, the type of a table's rows. `R` is `Row` if the columns are not known at compile time. */
import type { ParameterScalar, ParameterValue } from '../protocol/parameters.js'
import type { SqlFragment } from '../sql/syntax/sql-fragment.js'

/** Whether the columns of rows are known at compile time. */
type IsKnown<R extends object> = [keyof R] extends [never] ? false : string extends keyof R ? false : true

type InBackticks = `\`${string}\``

/** The name of a key column of a merge. It may be written in backticks. */
export type KeyName<R extends object> = IsKnown<R> extends true ? ColumnName<R> | InBackticks : string

/** The name of a column. */
export type ColumnName<R extends object> = IsKnown<R> extends true ? keyof R & string : string

/** The columns that a search adds. */
export type AddedColumn = '_distance' | '_score' | '_relevance_score' | '_rowid' | '_highlights'

/** Rows without the columns that a search adds. Groups do not have these columns. */
export type WithoutAdded<R extends object> = { readonly [K in keyof R as Exclude<K, AddedColumn>]: R[K] }

/** The generated columns that every table has. */
type NumberColumn = '_rowid' | '_rowoffset'

/**
 * The names that `select` accepts: columns, fields of struct columns, and columns that a search adds. `T`: the type of
 * the table's rows.
 */
export type SelectedName<R extends object, T extends object = R> =
  IsKnown<T> extends true
    ? ((keyof R | keyof T) & string) | `${keyof T & string}.${string}` | AddedColumn | NumberColumn
    : string

/** The columns that a condition may name. The columns that a search adds need `postfilter`. */
export type FilterColumn<T extends object> =
  IsKnown<T> extends true ? (keyof T & string) | AddedColumn | NumberColumn : string

/** Rows with only the selected columns and the columns that a search adds. `T`: the type of the table's rows. */
export type Selected<R extends object, K extends PropertyKey, T extends object = R> = {
  readonly [P in K | (keyof R & AddedColumn)]: Cell<R, T, P>
}

/**
 * Rows of selected expressions. An expression has the type of its column if it is the name of a column, the type that a
 * fragment declares, or the type of an aggregate (`count(*)`, `avg(price)`). All other expressions are `unknown`.
 */
export type Computed<
  R extends object,
  C extends Readonly<Record<string, string | SqlFragment>>,
  T extends object = R,
> = {
  readonly [P in (keyof C & string) | (keyof R & AddedColumn)]: P extends keyof C
    ? Expression<R, T, C[P]>
    : Cell<R, T, P>
}

type Expression<R extends object, T extends object, E> =
  E extends SqlFragment<infer V>
    ? V
    : unknown extends Cell<R, T, E>
      ? E extends `${infer F}(${infer A})`
        ? A extends `${string})${string}`
          ? unknown
          : ValueOfCall<
              Lowercase<F>,
              Cell<R, T, A>,
              A extends `'${string}', ${infer C}` ? Cell<R, T, C> : unknown
            >
        : unknown
      : Cell<R, T, E>

/** The value of the call `F`. `V`: the type of the column that is its only argument. `W`: that of a column after a text. */
type ValueOfCall<F extends string, V, W> = F extends 'count'
  ? number
  : F extends 'median' | 'percentile' | 'stddev' | 'stddev_pop' | 'variance' | 'var_pop'
    ? number | null
    : F extends 'sum' | 'avg' | 'mean'
      ? NumberOrDecimal<V>
      : F extends 'min' | 'max' | 'mode' | 'first' | 'last'
        ? V | null
        : F extends 'date_trunc'
          ? DateColumn<W>
          : unknown

/** Decimals are read as text. */
type NumberOrDecimal<V> = unknown extends V
  ? unknown
  : [V] extends [number | bigint | null]
    ? number | null
    : [V] extends [string | null]
      ? string | null
      : unknown

type DateColumn<V> = unknown extends V ? unknown : [V] extends [Date | bigint | null] ? V : unknown

/** The type of a column: of the answer `R`, or of the table `T`. */
export type Cell<R extends object, T extends object, P> = P extends keyof R
  ? R[P]
  : P extends keyof T
    ? T[P]
    : P extends NumberColumn
      ? number
      : unknown

type Direction = 'asc' | 'desc' | 'ASC' | 'DESC'
type Nulls = 'nulls first' | 'nulls last' | 'NULLS FIRST' | 'NULLS LAST'
type Ordered<N extends string> = N | `${N} ${Direction}` | `${N} ${Nulls}` | `${N} ${Direction} ${Nulls}`

/** The names of columns by which rows can be ordered. `T`: the type of the table's rows. */
export type OrderedName<R extends object, T extends object> =
  IsKnown<T> extends true
    ? ((keyof R | keyof T) & string) | AddedColumn | NumberColumn | `${keyof T & string}.${string}`
    : string

/** A sort key as text: the name of a column, its direction, and `nulls first` or `nulls last`. */
export type OrderText<R extends object, T extends object> =
  IsKnown<T> extends true
    ? Ordered<OrderedName<R, T>> | Ordered<`"${string}"`> | Ordered<InBackticks>
    : string

/** The argument of `update`: for each column a new value, or an expression over the old row (`` sql`price * 2` ``). */
export type Assignments<R extends object = Readonly<Record<string, unknown>>, I extends object = object> =
  IsKnown<R> extends true
    ? { readonly [K in keyof R]?: AssignedValue<R[K]> | DecimalValue<R[K], K, I> | SqlFragment }
    : Readonly<Record<string, ParameterValue | SqlFragment>>

/** The numbers that a decimal column takes, if `I` is the type of rows to write that a schema defines. */
type DecimalValue<V, K, I> = V extends string ? (K extends keyof I ? Extract<I[K], number> : never) : never

/** A value for a column that is read as `V`. Struct columns take only expressions. */
type AssignedValue<V> = unknown extends V
  ? ParameterValue
  : V extends number | bigint
    ? number | bigint
    : V extends Date
      ? Date | string
      : V extends null | string | boolean | Uint8Array
        ? V
        : V extends VectorValue
          ? VectorValue | readonly number[]
          : V extends readonly (infer E)[]
            ? readonly AssignedValue<E>[]
            : never

type VectorValue =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint16Array
  | Uint32Array

/** The type of a key for a key column whose values have the type `V`. */
export type KeyOf<V> = unknown extends V
  ? Exclude<ParameterScalar, null>
  : V extends number | bigint
    ? number | bigint
    : Exclude<V, null>

/** Rows to write, of the type `I` if the columns of the table are known. They may leave out any column. */
export type PartialInput<R extends object, I extends object> = IsKnown<R> extends true ? Partial<I> : object

/**
 * The type of a value if 64-bit integers are read as `I`. A number may become `I`, because its width is not known here.
 */
type WithInt64<V, I> = unknown extends V
  ? V
  : V extends number | bigint
    ? V | I
    : V extends Date | ArrayBufferView
      ? V
      : V extends readonly (infer E)[]
        ? readonly WithInt64<E, I>[]
        : V extends object
          ? { readonly [K in keyof V]: K extends FloatColumn ? V[K] : WithInt64<V[K], I> }
          : V

type FloatColumn = '_distance' | '_score' | '_relevance_score'

/** The type of the rows that `toArray` returns with the options `O`; `int64` sets the type of 64-bit integers. */
export type RowsAs<R extends object, O extends { readonly int64?: unknown }> = O extends {
  readonly int64: infer I
}
  ? WithInt64<R, I extends 'number' ? number : I extends 'bigint' ? bigint : string>
  : R
