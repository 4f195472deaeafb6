/** What callers may hand in as rows, and how it is taken. */
import type { BadVectors } from '../arrow/bad-vectors.js'
import type { Schema } from '../arrow/types.js'
import { callback, given, oneOf, optionFields } from '../protocol/shape.js'

/** A row whose columns are not known when the program is compiled. */
export type Row = Readonly<Record<string, unknown>>

/**
 * What is taken for a row that is read as `R`: columns that may be null may be missing, vectors may be arrays, integers
 * bigints, and points in time text or counts.
 */
export type RowInput<R extends object> = string extends keyof R
  ? object
  : { readonly [K in keyof R as null extends R[K] ? never : K]: ValueInput<R[K]> } & {
      readonly [K in keyof R as null extends R[K] ? K : never]?: ValueInput<R[K]> | undefined
    }

type ValueInput<V> = unknown extends V
  ? unknown
  : V extends number | bigint
    ? number | bigint
    : V extends Date
      ? Date | string | number | bigint
      : V extends NumberArray
        ? ArrayLike<number>
        : V extends readonly (infer E)[]
          ? readonly ValueInput<E>[]
          : V extends object
            ? RowInput<V>
            : V

type NumberArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint16Array
  | Uint32Array

type Each<T> = Iterable<T> | AsyncIterable<T>

/** A table or a record batch of apache-arrow, of any version. */
type ArrowInput =
  | { readonly schema: object; readonly batches: readonly object[] }
  | { readonly schema: object; readonly data: object }

/**
 * - An array of plain objects;
 * - an Arrow table or record batch, of any version of apache-arrow;
 * - the bytes of an Arrow IPC file or stream;
 * - an iterable or async iterable of plain objects, of arrays of them, of Arrow tables or record batches, or of the bytes of
 *   an IPC file or stream in chunks (a stream of Node's or of the web). All its items are of the kind of the first. It is
 *   read as far as rows are needed, and closed when no more are.
 */
export type TableData<R extends object = Row> =
  | Each<RowInput<R>>
  | Each<readonly RowInput<R>[]>
  | Each<ArrowInput>
  | Each<Uint8Array>
  | ArrowInput
  | Uint8Array

/** How far the rows of a call are. */
export interface Progress {
  /** Rows taken so far; those that were left out do not count. */
  readonly rows: number
  /** Bytes of these rows as Arrow data. */
  readonly bytes: number
}

/** How rows are taken in. */
export interface IngestOptions {
  /** Called after each batch of rows that was taken. What it throws ends the call. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /**
   * What becomes of a vector (a value of a fixed_size_list of floats) that holds NaN, an infinity or a null, or in plain
   * objects has another length than its column: the call is refused (`error`, the default), the vector is null (code 20 where
   * the column allows none), or its row is left out (`skip`). With `null` and `skip`, where types are inferred, the length of
   * a column is the most frequent one of its vectors; where two are equally frequent the call is refused.
   */
  readonly badVectors?: BadVectors | undefined
}

export const ingestFields = optionFields<IngestOptions>()({
  onProgress: callback<(progress: Progress) => void>(),
  badVectors: oneOf('error', 'null', 'skip'),
})

/** Whether it is one is checked where it is used (code 20). */
export const schemaShape = given<Schema>('a schema', () => true)
