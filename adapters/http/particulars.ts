/**
 * Facts about a request that are collected while the server handles it. The log and the limits per caller use them.
 * They contain no secrets.
 */
import type { Principal } from './gate.js'

/** The facts about one request. Each field is set as soon as its value is known. */
export interface Particulars {
  principal?: Principal | undefined
  /** The database, as the client wrote it. */
  database?: string | undefined
  /** The `x-request-id` that the client sent. */
  requestId?: string | undefined
  /** The context of the call, from header fields. */
  context?: Readonly<Record<string, string>> | undefined
  /** Unknown fields, and unknown query parameters (written `?name`), that were skipped. */
  skipped?: readonly string[] | undefined
}
