/** TypeScript types of the rows of a Schema of apache-arrow. */
import type { Schema, Struct, Type } from 'apache-arrow'
import type { Values } from './row-type.js'

/**
 * The type of the rows of a Schema that declares its columns: `Schema<{ id: Int64; title: Utf8 }>`. The type of the Schema
 * does not tell whether a column is nullable, so the type of each column includes null. Any key and value is allowed if
 * the Schema does not declare its columns, or if it is of a version of apache-arrow with other types.
 */
export type RowOfArrowSchema<S, As extends Values> =
  S extends Schema<infer T>
    ? string extends keyof T
      ? Readonly<Record<string, unknown>>
      : { readonly [K in keyof T]: CellOf<T[K], As> }
    : Readonly<Record<string, unknown>>

type CellOf<T, As extends Values> = ValueOf<T, As> | null

type ValueOf<T, As extends Values> = T extends { readonly typeId: infer N }
  ? N extends Type.Int64 | Type.Uint64 | Type.Duration
    ? As['int64']
    : N extends Type.Int
      ? number | As['int64']
      : N extends keyof PlainValues
        ? N extends Type.Decimal
          ? As['decimal']
          : PlainValues[N]
        : N extends Type.List | Type.LargeList
          ? T extends { readonly valueType: infer E }
            ? readonly CellOf<E, As>[]
            : unknown
          : N extends Type.FixedSizeList
            ? T extends { readonly valueType: { readonly typeId: infer E } }
              ? E extends keyof Vectors
                ? Vectors[E]
                : unknown
              : unknown
            : N extends Type.Struct
              ? T extends Struct<infer Children>
                ? { readonly [K in keyof Children]: CellOf<Children[K], As> }
                : unknown
              : N extends Type.Dictionary
                ? T extends { readonly dictionary: infer E }
                  ? ValueOf<E, As>
                  : unknown
                : unknown
  : unknown

interface PlainValues {
  [Type.Null]: null
  [Type.Bool]: boolean
  [Type.Int8]: number
  [Type.Int16]: number
  [Type.Int32]: number
  [Type.Uint8]: number
  [Type.Uint16]: number
  [Type.Uint32]: number
  [Type.Float]: number
  [Type.Float16]: number
  [Type.Float32]: number
  [Type.Float64]: number
  [Type.Utf8]: string
  [Type.LargeUtf8]: string
  [Type.Binary]: Uint8Array
  [Type.LargeBinary]: Uint8Array
  [Type.FixedSizeBinary]: Uint8Array
  [Type.Decimal]: unknown
  [Type.Date]: Date
  [Type.DateDay]: Date
  [Type.DateMillisecond]: Date
  [Type.TimestampSecond]: Date
  [Type.TimestampMillisecond]: Date
  [Type.TimestampMicrosecond]: Date | bigint
  [Type.TimestampNanosecond]: Date | bigint
  [Type.Timestamp]: Date | bigint
}

interface Vectors {
  [Type.Float16]: Float32Array
  [Type.Float32]: Float32Array
  [Type.Float64]: Float64Array
  [Type.Int8]: Int8Array
  [Type.Int16]: Int16Array
  [Type.Int32]: Int32Array
  [Type.Uint8]: Uint8Array
  [Type.Uint16]: Uint16Array
  [Type.Uint32]: Uint32Array
}
