/** Facts about a request, collected while the server handles it, for the log and for limits per caller. They contain no secret. */
import type { Principal } from './gate.js'

/** Each field is set as soon as it is known. */
export interface Particulars {
  principal?: Principal | undefined
  /** The database as the client named it. */
  database?: string | undefined
  /** `x-request-id`. */
  requestId?: string | undefined
  /** The context of the call, from the header. */
  context?: Readonly<Record<string, string>> | undefined
  /** Unknown fields and query parameters (`?name`) that were skipped. */
  skipped?: readonly string[] | undefined
}
