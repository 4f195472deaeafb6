/**
 * Connects a reader of files with the call that writes its rows: each of them may know types of columns that the other
 * needs.
 */
import type { Schema } from '../arrow/types.js'

/** The columns whose types the options of a reader give. */
interface GivenColumns {
  readonly schema: Schema
  /** Whether `schema` has all columns of the rows. If false, other columns get inferred types. */
  readonly isComplete: boolean
}

/** The side of a reader. */
export interface TypedSource {
  /** Return the columns whose types the options of the reader give. Throws the errors of these options. */
  readonly given: () => GivenColumns
  /**
   * Read the columns whose types the options do not give as values of the types of `schema`. Has an effect only before
   * the first row is read.
   */
  readonly readAs: (schema: Schema) => void
  /** Return the names of the columns of a file that was read and has no rows. */
  readonly emptyColumns?: () => readonly string[]
}

/** Registered for all copies of this module: rows may come from another build of the package. */
const key = Symbol.for('sheaf.typed-source')

/** Return the rows of a reader, with its types. */
export function withTypes<T extends object>(rows: T, source: TypedSource): T {
  return Object.defineProperty(rows, key, { value: source })
}

/** Return the types of the reader that yields the rows. Returns undefined for other rows. */
export function typedSourceOf(rows: object): TypedSource | undefined {
  return (rows as { readonly [key]?: TypedSource })[key]
}
