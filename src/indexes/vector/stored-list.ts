/** A list that was read and checked. */
export interface StoredList {
  /** With the zeros behind them. */
  readonly codes: Uint8Array
  /** Ascending. */
  readonly ordinals: Uint32Array
}
