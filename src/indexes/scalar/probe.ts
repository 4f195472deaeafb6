/** What can be asked of a scalar index. */
import type { Scalar } from '../../sql/values/scalar.js'

export type ScalarKind = 'BTREE' | 'BITMAP' | 'LABEL_LIST'

/** A bound of a range. */
export interface ProbeEnd {
  readonly value: Scalar
  readonly inclusive: boolean
}

/**
 * A condition on the values of one column. Constants are of the column's value type (of a list's: its elements'), distinct and
 * not null; values are compared as filters compare them (sql/values/scalar-order).
 *
 * - `range`: values between two ends, of which one may be missing; both missing: all values that are not null.
 * - `members`: values that are one of some.
 * - `null`: rows without a value.
 * - `any`, `all` (LABEL_LIST only): lists with one, or every one, of some elements.
 */
export type ScalarProbe =
  | { readonly kind: 'range'; readonly low: ProbeEnd | null; readonly high: ProbeEnd | null }
  | { readonly kind: 'members'; readonly values: readonly Scalar[] }
  | { readonly kind: 'null' }
  | { readonly kind: 'any' | 'all'; readonly values: readonly Scalar[] }

export type ProbeKind = ScalarProbe['kind']

/** What each kind of index can be asked. */
export const probesOfKind: Readonly<Record<ScalarKind, readonly ProbeKind[]>> = {
  BTREE: ['range', 'members', 'null'],
  BITMAP: ['range', 'members', 'null'],
  LABEL_LIST: ['any', 'all'],
}
