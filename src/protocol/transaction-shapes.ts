/** Transactions: what became of a commit or a job, and notes on it. */
import { caller, stringMap } from './request-fields.js'
import { array, choice, enumeration, type Infer, object, optional, required, string } from './shape.js'

export const transactionStatus = enumeration(['Queued', 'Running', 'Succeeded', 'Failed', 'Canceled'], {
  Cancelled: 'Canceled',
})
export type TransactionStatus = Infer<typeof transactionStatus>

const onTransaction = {
  ...caller,
  id: required(
    array(string('nonEmpty'), { min: 1 }),
    'The transaction id; names of its table may precede it.',
  ),
}

export const describeTransactionRequest = object(onTransaction)

export const transactionStateReply = object({
  status: required(transactionStatus, 'How far it is.'),
  properties: required(stringMap, 'Among them uuid, operation, version, read_version.'),
})

const transactionAction = choice({
  setStatusAction: required(
    object({ status: required(transactionStatus, 'New status; `Canceled` stops a running job.') }),
    'Sets the status.',
  ),
  setPropertyAction: required(
    object({
      key: required(string('nonEmpty'), 'Property.'),
      value: required(string(), 'Its value.'),
      mode: optional(
        enumeration(['Overwrite', 'Fail', 'Skip']),
        'What to do when it is set: overwrite it (default), fail, keep it.',
      ),
    }),
    'Sets a property.',
  ),
  unsetPropertyAction: required(
    object({
      key: required(string('nonEmpty'), 'Property.'),
      mode: optional(
        enumeration(['Skip', 'Fail']),
        'What to do when it is not set: nothing (default), or fail.',
      ),
    }),
    'Removes a property.',
  ),
})
export type TransactionAction = Infer<typeof transactionAction>

export const alterTransactionRequest = object({
  ...onTransaction,
  actions: required(array(transactionAction, { min: 1 }), 'All apply, or none.'),
})
