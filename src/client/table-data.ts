/** The types of the rows that writes accept, and the options for reading them. */
import type { BadVectors } from '../arrow/bad-vectors.js'
import { callback, oneOf, optionFields } from '../protocol/shape.js'

/** A row whose columns are not known at compile time. */
export type Row = Readonly<Record<string, unknown>>

/**
 * The type of a row to write to a table from which rows are read as `R`. Nullable columns may be missing. Vectors may
 * be arrays, integers may be bigints. Dates and times may be strings, or numbers in the unit of the column.
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

/** A table or record batch of any version of apache-arrow. */
type ArrowInput =
  | { readonly schema: object; readonly batches: readonly object[] }
  | { readonly schema: object; readonly data: object }

/**
 * The bytes of an Arrow IPC file or stream, as a Uint8Array. The type has few members, so that the compiler reports a row
 * with a wrong column at the column.
 */
interface IpcBytes {
  readonly BYTES_PER_ELEMENT: number
  readonly buffer: ArrayBufferLike
  readonly byteLength: number
  readonly byteOffset: number
}

/** Rows to write to a table whose rows are read as `R`. */
export type TableData<R extends object = Row> = TableInput<RowInput<R>>

/**
 * Rows of the type `I`, as one of:
 * - a query: its rows with the types of its columns;
 * - an array of plain objects;
 * - an Arrow table or record batch, of any version of apache-arrow;
 * - the bytes of an Arrow IPC file or stream;
 * - an iterable or async iterable of plain objects, of arrays of plain objects, or of Arrow tables or record batches;
 * - a stream (of Node or of the web) or another iterable of byte chunks of an IPC file or stream.
 *
 * All items of an iterable must be of the same kind. The call reads items when it needs them, and closes the iterable
 * at its end.
 */
export type TableInput<I extends object> =
  | readonly I[]
  | Each<I>
  | Each<readonly I[]>
  | Each<ArrowInput>
  | Each<IpcBytes>
  | ArrowInput
  | IpcBytes

/** Progress of an ingestion. */
export interface Progress {
  /** Number of rows read so far, without skipped rows. */
  readonly rows: number
  /** Size of these rows as Arrow data, in bytes. */
  readonly bytes: number
}

/** Options of calls that take rows. */
export interface IngestOptions {
  /** Called after each batch of rows that was read. If the callback throws, the call fails with its error. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /**
   * Treatment of bad vectors. A vector is a value of a column of type fixed_size_list of floats. A vector is bad if it
   * contains NaN, an infinity or a null. In plain objects, a vector is also bad if its length differs from the length
   * of the column's vectors.
   * - `error` (default) refuses the call;
   * - `null` replaces the vector with null (throws `SchemaValidation` if the column is not nullable);
   * - `skip` leaves the row out.
   *
   * If no schema gives the length of a column, `null` and `skip` take the most frequent length of its vectors. If two
   * lengths are equally frequent, the call is refused.
   */
  readonly badVectors?: BadVectors | undefined
}

export const ingestFields = optionFields<IngestOptions>()({
  onProgress: callback<(progress: Progress) => void>(),
  badVectors: oneOf('error', 'null', 'skip'),
})
