/**
 * Keeps the snapshots and transactions of the program in the worker. Each has a number, which the calls of the program
 * contain.
 */
import { assert, type ErrorCode, SheafError } from '../../src/errors.js'
import type { Namespace } from '../../src/index.js'
import { type Deferred, deferred } from '../../src/primitives/deferred.js'
import type { Operations } from '../../src/protocol/calls.js'
import type { EndOfWork, TransactionStep } from './messages.js'

/** A snapshot, or an attempt of a transaction. */
type Handle =
  | { readonly operations: Operations; readonly close: () => Promise<void> }
  | { readonly operations: Operations; readonly transaction: Transaction }

export class Holdings {
  readonly #namespace: Pick<Namespace, 'operations' | 'snapshot' | 'transaction'>
  readonly #handles = new Map<number, Handle>()
  #last = 0

  constructor(namespace: Pick<Namespace, 'operations' | 'snapshot' | 'transaction'>) {
    this.#namespace = namespace
  }

  /** Return the operations of the snapshot or attempt with this number. Undefined: the operations of the namespace. */
  operationsOf(number: number | undefined): Operations {
    return number === undefined ? this.#namespace.operations : this.#get(number).operations
  }

  async takeSnapshot(signal: AbortSignal): Promise<number> {
    const snapshot = await this.#namespace.snapshot({ signal })
    return this.#add({ operations: snapshot.operations, close: () => snapshot.close() })
  }

  async release(number: number): Promise<void> {
    const handle = this.#take(number)
    assert('close' in handle, `${number} is the number of a snapshot`)
    await handle.close()
  }

  begin(signal: AbortSignal): Promise<TransactionStep> {
    const transaction = new Transaction(this.#namespace, operations => this.#add({ operations, transaction }))
    return transaction.run(signal)
  }

  async end({ held: number, threw }: EndOfWork, signal: AbortSignal): Promise<TransactionStep> {
    const handle = this.#take(number)
    assert('transaction' in handle, `${number} is the number of a transaction attempt`)
    return handle.transaction.goOn(threw, signal)
  }

  #add(handle: Handle): number {
    const number = ++this.#last
    this.#handles.set(number, handle)
    return number
  }

  #get(number: number): Handle {
    const handle = this.#handles.get(number)
    assert(handle !== undefined, `${number} is a number in use`)
    return handle
  }

  #take(number: number): Handle {
    const handle = this.#get(number)
    this.#handles.delete(number)
    return handle
  }
}

/** A transaction whose function runs in another thread, the thread of the program. */
class Transaction {
  readonly #namespace: Pick<Namespace, 'transaction'>
  readonly #hold: (attempt: Operations) => number
  readonly #abort = new AbortController()
  /** The next step of the transaction. The program waits for it. */
  #step!: Deferred<TransactionStep>
  /**
   * The end of the function of the current attempt. The engine waits for it. The value is the code of the error that
   * the function threw, or undefined.
   */
  #work!: Deferred<ErrorCode | undefined>

  constructor(namespace: Pick<Namespace, 'transaction'>, hold: (attempt: Operations) => number) {
    this.#namespace = namespace
    this.#hold = hold
  }

  run(signal: AbortSignal): Promise<TransactionStep> {
    const step = this.#next(signal)
    void this.#begin()
    return step
  }

  goOn(threw: ErrorCode | undefined, signal: AbortSignal): Promise<TransactionStep> {
    const step = this.#next(signal)
    this.#work.resolve(threw)
    return step
  }

  #next(signal: AbortSignal): Promise<TransactionStep> {
    const abort = () => this.#abort.abort(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    this.#step = deferred()
    return this.#step.promise
  }

  async #begin(): Promise<void> {
    let thrown: SheafError | undefined
    const work = async (tx: Namespace) => {
      this.#work = deferred()
      this.#step.resolve({ held: this.#hold(tx.operations) })
      const threw = await this.#work.promise
      if (threw === undefined) return
      // The engine needs the code to recognize a conflict. The program keeps the error itself.
      thrown = new SheafError(threw, 'the work of a transaction threw')
      throw thrown
    }
    try {
      await this.#namespace.transaction(work, { signal: this.#abort.signal })
      this.#step.resolve('committed')
    } catch (cause) {
      if (cause === thrown) this.#step.resolve('thrown')
      else this.#step.reject(cause)
    }
  }
}
