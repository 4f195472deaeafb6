/**
 * Prevents Lance engines from opening tables whose rows Sheaf stores.
 *
 * A Lance engine asks the server for the description of a table, and opens the `location` of the table in its own
 * process. At the location of a Sheaf table the engine would find no Lance manifest, and an append would leave files
 * there. So the reply contains a location whose scheme no object store has. The error message of the engine contains
 * the scheme, so the scheme itself says what to do.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Reply } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { Dialect } from './dialect.js'

/** Header field of Sheaf's own client. This client opens no files, so it gets the true location. */
export const sheafClient = { 'x-sheaf-client': '1' }

const refusal = 'sheaf-stores-the-rows-of-this-table--query-it-over-http-or-export-it'

/**
 * Replace the location in the reply of `describeTable`. LanceDB's remote client gets the true location, because it
 * sends its queries to the server.
 */
export function withoutLocation(
  name: OperationName,
  result: unknown,
  dialect: Dialect,
  headers: IncomingHttpHeaders,
): unknown {
  if (name !== 'describeTable' || dialect === 'lance' || 'x-sheaf-client' in headers) return result
  const { managed_versioning, ...described } = result as Reply<'describeTable'>
  // A table without a schema has its rows in another engine, so its location is the true one.
  if (described.schema === undefined) return result
  return { ...described, location: `${refusal}://${described.uuid}` }
}
