/** Defines the kinds of scalar indexes and the conditions that they can look up. */
import type { Scalar } from '../../sql/values/scalar.js'

/** A kind of scalar index. BTREE and BITMAP index single values; LABEL_LIST indexes the elements of lists. */
export type ScalarKind = 'BTREE' | 'BITMAP' | 'LABEL_LIST'

/** A bound of a range. */
export interface ProbeEnd {
  readonly value: Scalar
  readonly inclusive: boolean
}

/**
 * A condition on the values of one column. The constants have the value type of the column, or the element type of a
 * list column. They are distinct and not null. Values compare as in filters (sql/values/scalar-order).
 *
 * - `range`: values between two bounds. A null bound does not limit the range. Without bounds, all non-null values
 *   match.
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
