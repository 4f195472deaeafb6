/** Tells calls of a namespace that are made inside of one of its own transactions, past the handle that the transaction gives. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { invalidInput, type SheafError } from '../errors.js'
import type { Operations } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'

/** The work of a transaction that is under way, and the one around it, of another namespace. */
interface Running {
  readonly scope: TransactionScope
  readonly around: Running | undefined
  isOver: boolean
}

const running = new AsyncLocalStorage<Running>()
/** Works under way, of all namespaces. */
let works = 0

/** The transactions of one namespace. */
export class TransactionScope {
  /** Runs the work of a transaction. Whatever it starts and leaves behind counts as outside once it is over. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const own: Running = { scope: this, around: running.getStore(), isOver: false }
    works++
    try {
      return await running.run(own, work)
    } finally {
      own.isOver = true
      works--
      // Node before 24 makes every promise of the process slower while it keeps track.
      if (works === 0) running.disable()
    }
  }

  /** The error of a call that is made inside of a transaction of this namespace; null outside. */
  outside(id: readonly string[] = []): SheafError | null {
    if (works === 0) return null
    for (let each = running.getStore(); each !== undefined; each = each.around) {
      if (each.scope === this && !each.isOver) return outside(id)
    }
    return null
  }

  /** The operations, each of which rejects inside of a transaction of this namespace. */
  guard(target: Operations): Operations {
    const calls = Object.entries<(...args: unknown[]) => Promise<unknown>>(target as never)
    const guarded = calls.map(([name, call]) => [
      name,
      (...args: unknown[]) => {
        const error = this.outside((args[0] as { readonly id?: readonly string[] } | undefined)?.id)
        return error === null ? call(...args) : Promise.reject(error)
      },
    ])
    return Object.fromEntries(guarded) as Operations
  }
}

function outside(id: readonly string[]): SheafError {
  const what = id.length === 0 ? '' : ` of ${idText(id)}`
  return invalidInput(
    `this call${what} goes past the transaction that it is made in, and would not be part of it`,
    {
      hint: 'use the handle that the transaction gives: tx.table(...), tx.openTable(...), tx.operations',
    },
  )
}
