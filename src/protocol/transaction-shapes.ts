/** The shapes of transactions: the state of a commit or a job, and its properties. */
import { caller, stringMap } from './request-fields.js'
import { array, choice, enumeration, type Infer, object, optional, required, string } from './shape.js'

const transactionStatus = enumeration(['Queued', 'Running', 'Succeeded', 'Failed', 'Canceled'], {
  Cancelled: 'Canceled',
})
export type TransactionStatus = Infer<typeof transactionStatus>

const onTransaction = {
  ...caller,
  id: required(
    array(string('nonEmpty'), { min: 1 }),
    'The transaction id. The path of its table may come first.',
  ),
}

export const describeTransactionRequest = object(onTransaction)

export const transactionStateReply = object({
  status: required(transactionStatus, 'State of the transaction.'),
  properties: required(stringMap, 'Properties, for example uuid, operation, version, read_version.'),
})

const transactionAction = choice({
  setStatusAction: required(
    object({ status: required(transactionStatus, 'New status; `Canceled` stops a running job.') }),
    'Sets the status.',
  ),
  setPropertyAction: required(
    object({
      key: required(string('nonEmpty'), 'Name of the property.'),
      value: required(string(), 'Value of the property.'),
      mode: optional(
        enumeration(['Overwrite', 'Fail', 'Skip']),
        'Behavior if the property is set: overwrite it (default), fail, or keep it.',
      ),
    }),
    'Sets a property.',
  ),
  unsetPropertyAction: required(
    object({
      key: required(string('nonEmpty'), 'Name of the property.'),
      mode: optional(
        enumeration(['Skip', 'Fail']),
        'Behavior if the property is not set: do nothing (default), or fail.',
      ),
    }),
    'Removes a property.',
  ),
})
export type TransactionAction = Infer<typeof transactionAction>

export const alterTransactionRequest = object({
  ...onTransaction,
  actions: required(array(transactionAction, { min: 1 }), 'Actions to apply, either all or none.'),
})
