/**
 * Detects calls that the work of a transaction makes on the namespace itself instead of on the handle `tx`. Such calls
 * are a mistake, because they are not part of the transaction.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { invalidInput, type SheafError } from '../errors.js'
import type { Operations } from '../protocol/calls.js'
import { type DirectReads, directReadsOf, withDirectReads } from '../protocol/direct-reads.js'
import { idText } from '../protocol/identifiers.js'

/** Return the error for a transaction whose function ends while one of its calls is running. */
export function runningCall(): SheafError {
  return invalidInput(
    'the function of the transaction ended while a call was still running, so nothing was changed',
    { hint: 'await all calls of a transaction inside its function' },
  )
}

/** A running transaction. `around`: the transaction in whose work this transaction was started. */
interface Running {
  readonly scope: TransactionScope
  readonly around: Running | undefined
  isOver: boolean
}

const running = new AsyncLocalStorage<Running>()
/** Number of running transactions of all namespaces of this process. */
let runningCount = 0

/** The transactions of one namespace. */
export class TransactionScope {
  /**
   * Run the work of a transaction. A call that begins after the work has ended is not a mistake, even if it comes from
   * asynchronous code that the work started.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const own: Running = { scope: this, around: running.getStore(), isOver: false }
    runningCount++
    try {
      return await running.run(own, work)
    } finally {
      own.isOver = true
      runningCount--
      // Turn off async context tracking when it is unused: in Node before 24, it slows every promise of the process.
      if (runningCount === 0) running.disable()
    }
  }

  /** Return the error if the current call is inside a transaction of this namespace, otherwise null. */
  errorInside(id: readonly string[] = []): SheafError | null {
    if (runningCount === 0) return null
    for (let each = running.getStore(); each !== undefined; each = each.around) {
      if (each.scope === this && !each.isOver) return bypassError(id)
    }
    return null
  }

  /** Wrap operations, so that a call inside a transaction of this namespace rejects with InvalidInput. */
  guard(target: Operations): Operations {
    const calls = Object.entries<(...args: unknown[]) => Promise<unknown>>(target as never)
    const guarded = calls.map(([name, call]) => [
      name,
      (...args: unknown[]) => {
        const error = this.errorInside((args[0] as { readonly id?: readonly string[] } | undefined)?.id)
        return error === null ? call(...args) : Promise.reject(error)
      },
    ])
    const direct = directReadsOf(target)
    return withDirectReads(Object.fromEntries(guarded) as Operations, direct && this.#guardReads(direct))
  }

  /** Wrap direct reads, so that calls inside a transaction are sent as requests, which `guard` refuses. */
  #guardReads(direct: DirectReads): DirectReads {
    return {
      prepare: (query, table) => {
        const read = direct.prepare(query, table)
        const isRefused = () => this.errorInside(query.id) !== null
        return (
          read && {
            rows: (...args) => (isRefused() ? null : read.rows(...args)),
            count: (...args) => (isRefused() ? null : read.count(...args)),
          }
        )
      },
    }
  }
}

function bypassError(id: readonly string[]): SheafError {
  const what = id.length === 0 ? '' : ` of ${idText(id)}`
  return invalidInput(
    `this call${what} is made inside of a transaction, but would not be part of the transaction`,
    {
      hint: 'use the handle that the transaction passes to its work: tx.table(...), tx.openTable(...), tx.operations',
    },
  )
}
