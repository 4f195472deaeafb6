/** Calls that follow a table when it is renamed. */
import { type CallOptions, normalForms, type OperationOptions, type Operations } from '../protocol/calls.js'
import { directReadsOf, withDirectReads } from '../protocol/direct-reads.js'
import { operationNames, operations } from '../protocol/operations.js'

/** Bind the operations to the table `uuid`, so that calls follow a rename. */
export function bindToTable(named: Operations, uuid: string): Operations {
  const plain: OperationOptions = { table: uuid }
  normalForms.add(plain)
  const withTable = (options: CallOptions | undefined) =>
    options === undefined || isEmpty(options) ? plain : { ...options, table: uuid }
  const bound = operationNames.map(name => {
    const call = named[name] as (...args: unknown[]) => Promise<unknown>
    const takesRows = operations[name].body === 'arrow'
    return [
      name,
      takesRows
        ? (request: unknown, rows: unknown, options?: CallOptions) => call(request, rows, withTable(options))
        : (request: unknown, options?: CallOptions) => call(request, withTable(options)),
    ]
  })
  const direct = directReadsOf(named)
  return withDirectReads(
    Object.fromEntries(bound) as Operations,
    direct && { prepare: query => direct.prepare(query, uuid) },
  )
}

function isEmpty(options: object): boolean {
  for (const _ in options) return false
  return true
}
