/** A list of a vector segment (IVF), read from the file and verified. */
export interface StoredList {
  /** The codes of the rows, including padding. */
  readonly codes: Uint8Array
  /** The ordinals of the rows, ascending. */
  readonly ordinals: Uint32Array
}
