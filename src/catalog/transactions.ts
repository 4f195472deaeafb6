/** Computes the operations that change the status and the properties of a transaction (rules ). */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { TransactionAction, TransactionStatus } from '../protocol/transaction-shapes.js'
import type { CatalogOp, Properties } from './ops.js'
import type { CatalogState, Job } from './state.js'

/** The status and properties of a transaction from the state. A commit without properties is not in the state. */
interface TransactionView {
  readonly status: TransactionStatus
  /** The properties that callers set. */
  readonly props: Properties
  /** The open job, if the transaction is an open job; otherwise null. */
  readonly job: Job | null
}

/**
 * Return the status and properties of a transaction. `id`: the transaction id of a commit or job that is known to
 * exist.
 */
export function viewTransaction(state: CatalogState, id: string): TransactionView {
  const job = state.jobs.get(id)
  if (job !== undefined) return { status: job.status, props: job.props, job }
  const { status = 'Succeeded', props = {} } = state.notes.get(id) ?? {}
  return { status, props, job: null }
}

/** Maximum number of characters of all property names and values of one transaction together. */
const propertiesMax = 65_536

/**
 * Apply all actions in order, or none of them. Returns the operations, the new status and the new properties. Throws
 * ConcurrentModification for a status that cannot be set, and for a property with the mode `Fail` that is set already
 * or not set. Throws InvalidInput for a property that only Sheaf sets (`computed`).
 */
export function decideAlterTransaction(
  id: string,
  view: TransactionView,
  actions: readonly TransactionAction[],
  computed: ReadonlySet<string>,
): { readonly ops: readonly CatalogOp[]; readonly status: TransactionStatus; readonly props: Properties } {
  const props = new Map(Object.entries(view.props))
  let { status } = view
  for (const { setStatusAction, setPropertyAction, unsetPropertyAction } of actions) {
    if (setStatusAction !== undefined) status = nextStatus(view, status, setStatusAction.status)
    else if (setPropertyAction !== undefined) {
      const { key, value, mode = 'Overwrite' } = setPropertyAction
      checkIsNote(key, computed)
      if (props.has(key) && mode === 'Fail') throw conflict(`property ${quote(key)} is set already`)
      if (!props.has(key) || mode === 'Overwrite') props.set(key, value)
    } else {
      const { key, mode = 'Skip' } = unsetPropertyAction
      checkIsNote(key, computed)
      if (!props.delete(key) && mode === 'Fail') throw conflict(`property ${quote(key)} is not set`)
    }
  }
  const length = [...props].reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (length > propertiesMax) {
    throw invalidInput(
      `the properties of the transaction would have ${length} characters, more than the limit of ${propertiesMax}`,
    )
  }
  const set = Object.fromEntries([...props].filter(([key, value]) => view.props[key] !== value))
  const unset = Object.keys(view.props).filter(key => !props.has(key))
  const ops: CatalogOp[] = []
  if (Object.keys(set).length + unset.length > 0) ops.push({ op: 'txn', id, set, unset })
  if (status === 'Canceled' && view.job !== null) ops.push({ op: 'job', state: 'Canceled', id })
  return { ops, status, props: Object.fromEntries(props) }
}

/**
 * Return the status after an action. The status of a commit never changes, because a commit has ended. For a job,
 * callers may only set `Canceled`.
 */
function nextStatus(
  view: TransactionView,
  now: TransactionStatus,
  wanted: TransactionStatus,
): TransactionStatus {
  if (wanted === now) return now
  if (view.job === null || now === 'Canceled') {
    throw conflict(`the transaction has ended as ${now} and cannot become ${wanted}`)
  }
  if (wanted === 'Canceled') return wanted
  throw conflict(
    `the transaction is a job, and only Sheaf can set its status to ${wanted}`,
    'set the status Canceled to cancel the job',
  )
}

function checkIsNote(key: string, computed: ReadonlySet<string>): void {
  if (computed.has(key)) throw invalidInput(`property ${quote(key)} is set by Sheaf and cannot be changed`)
}

function conflict(message: string, hint?: string): SheafError {
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint })
}
