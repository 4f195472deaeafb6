/**
 * Transaction ids, `<slot, base 36>-<txn>`. They contain the slot number, so no index is needed to find a transaction.
 */

const pattern = /^(0|[1-9a-z][0-9a-z]{0,10})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

interface TransactionIdParts {
  readonly slot: number
  readonly txn: string
}

/** Return the transaction id of transaction `txn` in slot `slot`. */
export function formatTransactionId(slot: number, txn: string): string {
  return `${slot.toString(36)}-${txn}`
}

/** Parse a transaction id. Returns null if the text is not a transaction id. */
export function parseTransactionId(text: string): TransactionIdParts | null {
  const match = pattern.exec(text)
  if (match === null) return null
  const slot = Number.parseInt(match[1]!, 36)
  return Number.isSafeInteger(slot) ? { slot, txn: match[2]! } : null
}
