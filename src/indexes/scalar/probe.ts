/** Lookups that a scalar index supports. */
import type { Scalar } from '../../sql/values/scalar.js'

/** BTREE and BITMAP index single values; LABEL_LIST indexes the elements of lists. */
export type ScalarKind = 'BTREE' | 'BITMAP' | 'LABEL_LIST'

/** A bound of a range. */
export interface ProbeEnd {
  readonly value: Scalar
  readonly inclusive: boolean
}

/**
 * A condition on the values of one column. Constants have the column's value type (for a list column: its element type). They are
 * distinct and not null. Values compare as in filters (sql/values/scalar-order).
 *
 * - `range`: values between two bounds; a null bound is unbounded. Without bounds, all non-null values match.
 * - `members`: values equal to any of `values`.
 * - `null`: rows whose value is null.
 * - `any`, `all` (LABEL_LIST only): lists that contain at least one, or all, of `values`.
 */
export type ScalarProbe =
  | { readonly kind: 'range'; readonly low: ProbeEnd | null; readonly high: ProbeEnd | null }
  | { readonly kind: 'members'; readonly values: readonly Scalar[] }
  | { readonly kind: 'null' }
  | { readonly kind: 'any' | 'all'; readonly values: readonly Scalar[] }

type ProbeKind = ScalarProbe['kind']

/** The probes that each kind of index supports. */
export const probesOfKind: Readonly<Record<ScalarKind, readonly ProbeKind[]>> = {
  BTREE: ['range', 'members', 'null'],
  BITMAP: ['range', 'members', 'null'],
  LABEL_LIST: ['any', 'all'],
}
