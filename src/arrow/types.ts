/**
 * Arrow's logical types, fields and schemas as plain data (Arrow columnar format 1.5, Schema.fbs). All other modules
 * describe columns with these types. They do not use the classes of apache-arrow.
 */

/** Maximum depth of nested types that Sheaf accepts. A type without children has depth 1. */
export const maxTypeDepth = 48

/** A unit of time: seconds, milliseconds, microseconds or nanoseconds. */
export type TimeUnit = 's' | 'ms' | 'us' | 'ns'

/** A signed or unsigned integer. */
export interface IntType {
  readonly kind: 'int'
  readonly bits: 8 | 16 | 32 | 64
  readonly signed: boolean
}

/**
 * An Arrow data type as plain data. `kind` selects the type. The other properties are its parameters:
 *
 * - `large`: whether offsets have 64 instead of 32 bits in IPC bodies
 * - `width`: bytes of each value
 * - `size`: elements of each list
 * - `timezone`: name of a timezone; null for timestamps in local time
 * - `child` of a map: a struct with a key and a value
 *
 *     const vector: DataType = {
 *       kind: 'fixed_size_list',
 *       size: 128,
 *       child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: false },
 *     }
 */
export type DataType =
  | { readonly kind: 'null' }
  | { readonly kind: 'bool' }
  | IntType
  | { readonly kind: 'float'; readonly bits: 16 | 32 | 64 }
  | { readonly kind: 'utf8'; readonly large: boolean }
  | { readonly kind: 'binary'; readonly large: boolean }
  | { readonly kind: 'fixed_size_binary'; readonly width: number }
  | { readonly kind: 'decimal'; readonly bits: 128 | 256; readonly precision: number; readonly scale: number }
  | { readonly kind: 'date'; readonly unit: 'day' | 'ms' }
  | { readonly kind: 'time'; readonly unit: TimeUnit }
  | { readonly kind: 'timestamp'; readonly unit: TimeUnit; readonly timezone: string | null }
  | { readonly kind: 'duration'; readonly unit: TimeUnit }
  | { readonly kind: 'interval'; readonly unit: 'year_month' | 'day_time' | 'month_day_nano' }
  | { readonly kind: 'list'; readonly large: boolean; readonly child: Field }
  | { readonly kind: 'fixed_size_list'; readonly size: number; readonly child: Field }
  | { readonly kind: 'struct'; readonly children: readonly Field[] }
  | { readonly kind: 'map'; readonly keysSorted: boolean; readonly child: Field }
  | {
      readonly kind: 'dictionary'
      readonly index: IntType
      readonly value: DataType
      readonly ordered: boolean
    }

/** A named column, or a named child of a nested type. `metadata`: custom key-value pairs. */
export interface Field {
  readonly name: string
  readonly type: DataType
  readonly nullable: boolean
  readonly metadata?: Readonly<Record<string, string>>
}

/** The columns of a table or batch. `metadata`: custom key-value pairs. */
export interface Schema {
  readonly fields: readonly Field[]
  readonly metadata?: Readonly<Record<string, string>>
}

/** Return the direct child fields of a type. A dictionary has no child fields. */
export function childFields(type: DataType): readonly Field[] {
  switch (type.kind) {
    case 'list':
    case 'fixed_size_list':
    case 'map':
      return [type.child]
    case 'struct':
      return type.children
    default:
      return []
  }
}
