/** Who calls, and with what context: header fields that belong to no operation. Read and write are inverses. */
import { type IncomingHttpHeaders, validateHeaderName, validateHeaderValue } from 'node:http'
import { invalidInput } from '../../src/errors.js'
import type { CallOptions } from '../../src/protocol/calls.js'

export type Caller = Pick<CallOptions, 'identity' | 'context' | 'idempotencyKey' | 'table'>

/** The first is the one clients should use; the others are of other products. */
const contextPrefixes = ['x-sheaf-ctx-', 'x-ns-ctx-', 'x-lance-ctx-'] as const

/** The table a call is about, whatever it is called now. */
const tableHeader = 'x-sheaf-table'

/** What the header says; fields it says nothing about are absent. Names of context entries are in lower case. */
export function readCaller(headers: IncomingHttpHeaders): Caller {
  const token = /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]
  const key = one(headers['x-api-key'])
  const request = one(headers['x-request-id']) || undefined
  const table = one(headers[tableHeader]) || undefined
  const entries = Object.entries(headers).flatMap(([name, value]) => {
    const prefix = contextPrefixes.find(candidate => name.startsWith(candidate))
    return prefix === undefined || name === prefix ? [] : [[name.slice(prefix.length), one(value)]]
  })
  return {
    ...((token !== undefined || key !== undefined) && {
      identity: {
        ...(key !== undefined && { api_key: key }),
        ...(token !== undefined && { auth_token: token }),
      },
    }),
    ...(entries.length > 0 && { context: Object.fromEntries(entries) }),
    ...(request !== undefined && { idempotencyKey: request }),
    ...(table !== undefined && { table }),
  }
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

/** The header fields that say so. What no header can carry is InvalidInput. */
export function writeCaller({ identity, context, idempotencyKey, table }: Caller): Record<string, string> {
  const headers: Record<string, string> = {}
  if (identity?.api_key !== undefined) headers['x-api-key'] = identity.api_key
  if (identity?.auth_token !== undefined) headers.authorization = `Bearer ${identity.auth_token}`
  if (idempotencyKey !== undefined) headers['x-request-id'] = idempotencyKey
  if (table !== undefined) headers[tableHeader] = table
  for (const [name, value] of Object.entries(context ?? {})) headers[contextPrefixes[0] + name] = value
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch (cause) {
      throw invalidInput(`the header field ${JSON.stringify(name)} cannot carry this name or value`, {
        cause,
      })
    }
  }
  return headers
}
