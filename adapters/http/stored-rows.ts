/**
 * Keeps Lance engines from opening tables whose rows Sheaf stores.
 *
 * An engine asks for the description of a table and opens its `location` in its own process. For a table of Sheaf it would find no manifest there, and
 * an append would leave files behind. The location in the reply therefore has a scheme that no object store has. The error of the engine names the
 * scheme, so the scheme says what to do.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Reply } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { Dialect } from './dialect.js'

/** Sent by Sheaf's own client, which opens no files. */
export const sheafClient = { 'x-sheaf-client': '1' }

const refusal = 'sheaf-stores-the-rows-of-this-table--query-it-over-http-or-export-it'

/** The result of an operation as a caller may have it. LanceDB's remote client sends its queries to the server, and is shown the true location. */
export function withoutLocation(
  name: OperationName,
  result: unknown,
  dialect: Dialect,
  headers: IncomingHttpHeaders,
): unknown {
  if (name !== 'describeTable' || dialect === 'lance' || 'x-sheaf-client' in headers) return result
  const { managed_versioning, ...described } = result as Reply<'describeTable'>
  // The columns of a table are known where its rows are stored here.
  if (described.schema === undefined) return result
  return { ...described, location: `${refusal}://${described.uuid}` }
}
