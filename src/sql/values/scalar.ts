/** What one value of each type is in JavaScript. */

/** A span of the calendar. Its parts are not converted into each other: a month has no fixed number of days. */
export interface Interval {
  readonly months: number
  readonly days: number
  readonly nanos: bigint
}

/**
 * One value: bool as boolean; every integer, date, time, timestamp and duration (in units of its type) as bigint; a
 * decimal as the bigint that its scale divides; floats as number; utf8 as string; binary as bytes; a list as an array.
 * Structs and maps have no constants.
 */
export type Scalar = null | boolean | bigint | number | string | Uint8Array | Interval | readonly Scalar[]
