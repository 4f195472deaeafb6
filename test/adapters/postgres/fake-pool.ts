/** A pool of the package `pg` without a server. */
import { EventEmitter } from 'node:events'

export type Answer = (text: string, values: readonly unknown[]) => Promise<readonly (string | null)[][]>

class FakeClient extends EventEmitter {
  readonly host = 'db.example'
  readonly port = 5432
  readonly database = 'app'
  readonly #pool: FakePool

  constructor(pool: FakePool) {
    super()
    this.#pool = pool
  }

  async query({ text, values }: { text: string; values: readonly unknown[] }) {
    if (text.includes('pg_is_in_recovery')) return { rows: [[this.#pool.isStandby ? 't' : 'f']] }
    if (text.includes('current_schema')) return { rows: [[this.#pool.schema]] }
    if (text.includes('to_regclass')) return { rows: [['t']] }
    this.#pool.statements.push(text)
    return { rows: await this.#pool.answer(text, values) }
  }

  release(destroy: boolean) {
    this.#pool.released.push(destroy)
    if (destroy) this.emit('end')
    else this.#pool.idle.push(this)
  }
}

export class FakePool {
  answer: Answer
  schema: string | null = 'public'
  isStandby = false
  /** The errors of the next connections. */
  readonly refusals: Error[] = []
  readonly statements: string[] = []
  /** For each released connection, whether it was closed. */
  readonly released: boolean[] = []
  readonly idle: FakeClient[] = []
  ended = false

  constructor(answer: Answer = async () => []) {
    this.answer = answer
  }

  async connect(): Promise<FakeClient> {
    const refusal = this.refusals.shift()
    if (refusal !== undefined) throw refusal
    return this.idle.pop() ?? new FakeClient(this)
  }

  async end(): Promise<void> {
    this.ended = true
  }
}

/** An error of a server. */
export function serverError(code: string, severity = 'ERROR'): Error {
  return Object.assign(new Error(`message of ${code}`), { code, severity })
}

/** An error of a connection. */
export function networkError(code = 'ECONNRESET'): Error {
  return Object.assign(new Error(`message of ${code}`), { code })
}
