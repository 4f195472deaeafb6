/** Defines the sub-query that a node sends to other nodes: one unit of a search, encrypted like the tokens of sessions. */
import type { UnitQuery } from '../query/units.js'

/**
 * Number of the form of tokens and answers. Change it with every change of the form, and with every change after which
 * the same plan divides a version into other units. A node refuses tokens with another number.
 */
export const unitForm = 1

/** The content of the token of a sub-query. */
export interface UnitToken {
  readonly form: number
  readonly id: readonly string[]
  readonly uuid: string
  readonly location: string
  readonly version: number
  /** The request of `queryTable`, as JSON. */
  readonly request: string
  /** The value of the current time for expressions. It is the same on all nodes. */
  readonly now: number
  readonly query: UnitQuery
}

/** Return whether the content of a token is a sub-query. Other tokens belong to read sessions. */
export function isUnitToken(content: unknown): content is UnitToken {
  return typeof content === 'object' && content !== null && 'form' in content
}
