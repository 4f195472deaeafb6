/** What is learned of a request on its way: for the log, and for whoever counts callers. No secret is in it. */
import type { Principal } from './gate.js'

/** Fields are set as soon as they are known. */
export interface Particulars {
  principal?: Principal | undefined
  /** As the client named it. */
  database?: string | undefined
  /** `x-request-id`. */
  requestId?: string | undefined
  /** What the header says is context. */
  context?: Readonly<Record<string, string>> | undefined
  /** Fields and query parameters (`?name`) that are not known, and were skipped. */
  skipped?: readonly string[] | undefined
}
