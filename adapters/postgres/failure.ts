/** Judges errors of the package `pg`. */

/** The facts of an error. */
interface PostgresFailure {
  /** Whether the server certainly executed nothing, and will not do so later. */
  readonly isRefusal: boolean
  /** Whether a repetition may succeed. */
  readonly mayRepeat: boolean
  readonly isDenied: boolean
  readonly isReadOnly: boolean
  readonly reason: string
}

/**
 * Classes of SQLSTATE codes of errors after which the transaction was rolled back. The classes 08, 57, 58 and XX are not in
 * the list: the server may stop after it has committed, before it answers.
 */
const refusals: ReadonlySet<string> = new Set([
  '22',
  '23',
  '25',
  '28',
  '3D',
  '3F',
  '40',
  '42',
  '53',
  '54',
  '55',
])
/** Serialization failures, deadlocks, and lack of connections or locks. */
const passing = /^(40|53|55)/
const denied: ReadonlySet<string> = new Set(['42501', '28000', '28P01'])

/** Return the facts of an error of the package `pg`, or of the network. */
export function failureOf(error: unknown): PostgresFailure {
  const { code, severity, message } = error as { code?: unknown; severity?: unknown; message?: unknown }
  const isFromServer = typeof severity === 'string'
  const state = isFromServer && typeof code === 'string' ? code : ''
  const isRefusal = refusals.has(state.slice(0, 2)) && severity === 'ERROR'
  const text = typeof message === 'string' && message !== '' ? message : String(code ?? error)
  return {
    isRefusal,
    mayRepeat: isRefusal ? passing.test(state) : !/^(28|3D|42)/.test(state),
    isDenied: denied.has(state),
    isReadOnly: state === '25006',
    reason: state === '' ? text : `${text} (${state})`,
  }
}
