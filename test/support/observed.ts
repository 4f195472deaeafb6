/** Operations that show every reply to a test. */
import type { Operations } from '../../src/protocol/calls.js'
import { type OperationName, operationNames } from '../../src/protocol/operations.js'

/** The same operations; `see` is told of every call that succeeded, before its caller is. */
export function observed(
  operations: Operations,
  see: (name: OperationName, reply: unknown) => void,
): Operations {
  const calls = operations as unknown as Record<OperationName, (...args: unknown[]) => Promise<unknown>>
  const seen = operationNames.map(name => {
    const call = async (...args: unknown[]) => {
      const reply = await calls[name](...args)
      see(name, reply)
      return reply
    }
    return [name, call]
  })
  return Object.fromEntries(seen) as Operations
}

/** All transaction ids in a reply, however deep. */
export function transactionsIn(reply: unknown): string[] {
  if (typeof reply !== 'object' || reply === null) return []
  return Object.entries(reply).flatMap(([name, value]) => {
    return name === 'transaction_id' ? [value].flat() : transactionsIn(value)
  })
}
