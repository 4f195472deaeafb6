/** Decides alterations of transactions (rules ). */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { TransactionAction, TransactionStatus } from '../protocol/transaction-shapes.js'
import type { CatalogOp, Properties } from './ops.js'
import type { CatalogState, Job } from './state.js'

/** The status of a transaction, as far as the state knows it. A commit without properties is not in the state. */
interface TransactionView {
  readonly status: TransactionStatus
  /** Properties that callers set. */
  readonly props: Properties
  /** The job, while the transaction is an open job; otherwise null. */
  readonly job: Job | null
}

/** Return the status and properties of a transaction. `id`: of a commit or job that is known to exist. */
export function viewTransaction(state: CatalogState, id: string): TransactionView {
  const job = state.jobs.get(id)
  if (job !== undefined) return { status: job.status, props: job.props, job }
  const { status = 'Succeeded', props = {} } = state.notes.get(id) ?? {}
  return { status, props, job: null }
}

/** Limit of the characters in names and values of one transaction's properties, together. */
const propertiesMax = 65_536

/**
 * Decide all actions in order, or none. Throws ConcurrentModification for a status that cannot be set, and for a
 * property if the mode is Fail. Throws InvalidInput for a property that only Sheaf sets (`computed`).
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
      `the properties of the transaction would have ${length} characters, more than ${propertiesMax}`,
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
 * Return the status after an action. A commit has ended. Only Sheaf sets the status of a job, except that callers may
 * cancel it.
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
    `the transaction is a job of the engine: it cannot be set to ${wanted}`,
    'it can be Canceled',
  )
}

function checkIsNote(key: string, computed: ReadonlySet<string>): void {
  if (computed.has(key)) throw invalidInput(`property ${quote(key)} is set by Sheaf and cannot be changed`)
}

function conflict(message: string, hint?: string): SheafError {
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint })
}
