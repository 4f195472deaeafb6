/**
 * Keeps Lance engines from opening tables whose rows Sheaf stores.
 *
 * A Lance engine asks for the description of a table, and opens its `location` in its own process. At the location of a Sheaf table it
 * would find no manifest, and an append would leave files there. So the reply has a location with a scheme that no object store has. The
 * error of the engine shows the scheme, so the scheme itself tells the user what to do.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Reply } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { Dialect } from './dialect.js'

/** Sent by Sheaf's own client, which opens no files. */
export const sheafClient = { 'x-sheaf-client': '1' }

const refusal = 'sheaf-stores-the-rows-of-this-table--query-it-over-http-or-export-it'

/** Replace the location in a description. LanceDB's remote client sends its queries to the server, so it gets the true location. */
export function withoutLocation(
  name: OperationName,
  result: unknown,
  dialect: Dialect,
  headers: IncomingHttpHeaders,
): unknown {
  if (name !== 'describeTable' || dialect === 'lance' || 'x-sheaf-client' in headers) return result
  const { managed_versioning, ...described } = result as Reply<'describeTable'>
  // A description without schema is of a table whose rows are not stored here.
  if (described.schema === undefined) return result
  return { ...described, location: `${refusal}://${described.uuid}` }
}
