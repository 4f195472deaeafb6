/** The JavaScript form of a single value of each type. */

/** A calendar interval. Its parts are not converted into each other, because months have different numbers of days. */
export interface Interval {
  readonly months: number
  readonly days: number
  readonly nanos: bigint
}

/**
 * A single value:
 *
 * - bool: boolean
 * - integer, date, time, timestamp and duration (in units of the type): bigint
 * - decimal: the unscaled bigint
 * - interval: `Interval`
 * - float: number; utf8: string; binary: Uint8Array; list: array
 *
 * Structs and maps have no constants.
 */
export type Scalar = null | boolean | bigint | number | string | Uint8Array | Interval | readonly Scalar[]
