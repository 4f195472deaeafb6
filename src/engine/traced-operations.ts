/** Operations and direct reads that record spans. */
import type { Tracing } from '../primitives/tracing.js'
import type { Operations } from '../protocol/calls.js'
import type { DirectRead, DirectReads } from '../protocol/direct-reads.js'
import { type OperationEntry, type OperationName, operations } from '../protocol/operations.js'
import type { RequestMeter } from '../storage/request-meter.js'
import { type RequestObserver, RequestTally } from '../storage/request-tally.js'

/**
 * Return operations that record a span for each call, with the names of the semantic conventions of OpenTelemetry for
 * databases. `meter`: counts the requests to the store; they are spans within the span of the call.
 */
export function tracedOperations(
  bound: Operations,
  tracing: Tracing,
  meter: RequestMeter | undefined,
): Operations {
  const traced = Object.entries(bound).map(([name, operation]) => {
    const call = operation as (...args: unknown[]) => Promise<unknown>
    return [
      name,
      (...args: unknown[]) =>
        tracedCall({ tracing, meter }, startOf(name as OperationName, idOf(args[0])), () => call(...args)),
    ]
  })
  return Object.fromEntries(traced) as Operations
}

/** Run `work` in a span, with the requests to the store as spans within it. */
export function tracedCall<T>(
  { tracing, meter }: { readonly tracing: Tracing; readonly meter: RequestMeter | undefined },
  start: ReturnType<typeof startOf>,
  work: () => Promise<T>,
): Promise<T> {
  return tracing.run(start, async span => {
    if (meter === undefined) return work()
    const tally = new RequestTally(requestObserver(tracing))
    try {
      return await meter.tallied(tally, work)
    } finally {
      span.set({
        'sheaf.requests': tally.total,
        'sheaf.rounds': tally.rounds,
        'sheaf.received_bytes': tally.receivedBytes,
        'sheaf.sent_bytes': tally.sentBytes,
      })
    }
  })
}

/** Return direct reads that record a span for each read that they answer. */
export function tracedReads(reads: DirectReads, tracing: Tracing): DirectReads {
  return {
    prepare(query, table) {
      const read = reads.prepare(query, table)
      return read === null ? null : tracedRead(read, tracing, query.id)
    },
  }
}

function tracedRead(read: DirectRead, tracing: Tracing, id: unknown): DirectRead {
  const start = startOf('queryTable', idOf({ id }))
  return {
    rows(...args) {
      // A span that is not ended is not exported: the request that follows has its own.
      const span = tracing.begin(start)
      const rows = read.rows(...args)
      if (!(rows instanceof Promise)) {
        if (rows !== null) span.end()
        return rows
      }
      return rows
        .catch((error: Error) => {
          span.fail(error.name)
          throw error
        })
        .finally(() => span.end())
    },
    count(...args) {
      const span = tracing.begin(startOf('countTableRows', idOf({ id })))
      const count = read.count(...args)
      if (count !== null) span.end()
      return count
    },
  }
}

/** Return the facts of a span for a call. `id`: the names of the table or namespace. */
function startOf(name: OperationName | 'connect', id: readonly string[] | undefined) {
  const route = name === 'connect' ? undefined : (operations[name] as OperationEntry).routes[0]
  const isOfTable = route?.includes('/v1/table/{id}') === true
  const isOfNamespace = route?.includes('/v1/namespace/{id}') === true
  const names = isOfTable || isOfNamespace ? id : undefined
  const table = isOfTable ? names?.at(-1) : undefined
  const namespace = (isOfTable ? names?.slice(0, -1) : names)?.join('$')
  return {
    name: table === undefined ? name : `${name} ${table}`,
    kind: 'internal' as const,
    attributes: {
      'db.system.name': 'sheaf',
      'db.operation.name': name,
      'db.namespace': namespace === '' ? undefined : namespace,
      'db.collection.name': table,
    },
  }
}

/** The facts of the span for the opening of a root. */
export const openingSpan = startOf('connect', undefined)

function idOf(request: unknown): readonly string[] | undefined {
  const id = (request as { readonly id?: unknown } | null | undefined)?.id
  return Array.isArray(id) ? id : undefined
}

function requestObserver(tracing: Tracing): RequestObserver {
  return (kind, key, round) => {
    const attributes = { 'sheaf.store.request': kind, 'sheaf.store.key': key, 'sheaf.round': round }
    const span = tracing.begin({ name: `store ${kind}`, kind: 'client', attributes })
    return ({ receivedBytes, error }) => {
      span.set({ 'sheaf.received_bytes': receivedBytes })
      if (error !== null) span.fail(error)
      span.end()
    }
  }
}
