/**
 * Runs statements on the connections of a pool, and receives notifications.
 *
 * - Each statement is a transaction of its own.
 * - Each statement has a time limit. A connection on which a statement did not end is closed.
 * - Statements that only read are repeated after random pauses when the connection or the server fails.
 * - A server that is a standby is refused, because it answers with old slots. Each new connection is asked once: a standby
 *   may become a primary server, but a primary server becomes a standby only by a restart.
 */
import type { Pool, PoolClient } from 'pg'
import { ErrorCode, invalidInput, SheafError } from '../../src/errors.js'
import { orAborted, whenAborted } from '../../src/primitives/abort.js'
import { type Clock, systemClock } from '../../src/primitives/clock.js'
import { Ambiguous } from '../../src/storage/blob-store.js'
import { failureOf } from './failure.js'
import { nameOf } from './log-url.js'

/** Settings of `Connections`. */
interface ConnectionSettings {
  /** Maximum time for a statement, and for getting a connection, milliseconds. */
  readonly timeoutMs: number
  /** Maximum number of repetitions of a statement. */
  readonly retries: number
  /** The name of the server and the database in messages until there is a connection. */
  readonly server: string
}

/** A row. Values are in the text format of PostgreSQL, without a conversion. */
export type Row = readonly (string | null)[]

/** Thrown if no connection could be used, so that the server has not received the statement. */
class NotSent extends Error {
  override readonly cause: unknown

  constructor(cause: unknown) {
    super(failureOf(cause).reason)
    this.cause = cause
  }
}

/** The pause before the first repetition is random, at most this long. It doubles with each repetition. */
const firstPauseMs = 50
const pauseMsMax = 5000
const types = { getTypeParser: () => (value: unknown) => value }

/** See the head of this file. */
export class Connections {
  /** The name of the server and the database in messages, without user and password. */
  name: string
  readonly #pool: Pool
  readonly #isOwn: boolean
  readonly #settings: ConnectionSettings
  readonly #clock: Clock = systemClock
  readonly #primaries = new WeakSet<PoolClient>()
  readonly #closed = new AbortController()

  /** `isOwn`: whether `close` ends the pool. */
  constructor(pool: Pool, isOwn: boolean, settings: ConnectionSettings) {
    this.#pool = pool
    this.#isOwn = isOwn
    this.#settings = settings
    this.name = settings.server
    // An idle connection may break. The next statement uses another one.
    if (isOwn) pool.on('error', () => {})
  }

  /**
   * Run a statement that may be executed several times. Repeats it while the failure allows this. `what`: completes
   * "cannot ...".
   */
  async repeat(
    what: string,
    text: string,
    values: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<readonly Row[]> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#run(text, values, signal)
      } catch (error) {
        signal?.throwIfAborted()
        if (!this.#mayRepeat(error, tries)) throw this.#errorOf(what, error)
      }
      await this.#pause(tries, signal)
    }
  }

  /**
   * Run a statement that must not be executed again after an unknown outcome. Repeats it only if the server has certainly
   * not executed it. Throws `Ambiguous` if the outcome is unknown.
   */
  async runOnce(what: string, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#run(text, values)
      } catch (error) {
        const isKnown = error instanceof SheafError || error instanceof NotSent || failureOf(error).isRefusal
        if (!isKnown) {
          const message = `it is unknown whether ${this.name} did this: ${what} (${failureOf(error).reason})`
          throw new Ambiguous(message, { cause: error })
        }
        if (!this.#mayRepeat(error, tries)) throw this.#errorOf(what, error)
      }
      await this.#pause(tries)
    }
  }

  /**
   * Run a statement once. Throws `NotSent` if the server has not received it, `signal.reason` if the signal aborts, and
   * otherwise the error of the package `pg`.
   */
  async #run(text: string, values: readonly unknown[], signal?: AbortSignal): Promise<readonly Row[]> {
    signal?.throwIfAborted()
    if (this.#closed.signal.aborted) {
      const hint = 'open the log and the root again'
      throw new SheafError(ErrorCode.ServiceUnavailable, 'the log is closed', { hint })
    }
    const client = await this.#checkOut(signal).catch(error => {
      signal?.throwIfAborted()
      throw error instanceof SheafError ? error : new NotSent(error)
    })
    let isBroken = true
    try {
      const rows = await this.#rowsOf(client, text, values, signal)
      isBroken = false
      return rows
    } catch (error) {
      isBroken = !failureOf(error).isRefusal
      throw error
    } finally {
      client.release(isBroken)
    }
  }

  #mayRepeat(error: unknown, tries: number): boolean {
    if (tries >= this.#settings.retries || this.#closed.signal.aborted || error instanceof SheafError)
      return false
    return failureOf(error instanceof NotSent ? error.cause : error).mayRepeat
  }

  /** Wait for a random time. `tries`: number of earlier pauses. */
  #pause(tries: number, signal?: AbortSignal): Promise<void> {
    const ms = this.#clock.random() * Math.min(firstPauseMs * 2 ** tries, pauseMsMax)
    return this.#clock.sleep(ms, signal, true)
  }

  /** Return the error for a statement that the server has certainly not executed, or that only reads. */
  #errorOf(what: string, error: unknown): SheafError {
    if (error instanceof SheafError) return error
    const cause = error instanceof NotSent ? error.cause : error
    const { isDenied, isReadOnly, mayRepeat, reason } = failureOf(cause)
    const message = `cannot ${what} in ${this.name}: ${reason}`
    if (isDenied) {
      const hint =
        'check the user, the password, and the rights on the table: SELECT, INSERT, UPDATE and DELETE'
      return new SheafError(ErrorCode.PermissionDenied, message, { hint, cause })
    }
    if (isReadOnly) return this.#readOnly(cause)
    if (!mayRepeat) return invalidInput(message, { cause })
    const hint = 'check the network and the state of the server, then repeat the call'
    return new SheafError(ErrorCode.ServiceUnavailable, message, { hint, cause })
  }

  /**
   * Keep a connection that runs the statement `listen`, and call `onNotified` for each notification, and after each new
   * connection. Returns a function that ends this.
   */
  listen(listen: string, onNotified: () => void): () => void {
    const stopped = new AbortController()
    const forget = whenAborted(this.#closed.signal, () => stopped.abort(null))
    void this.#keepListening(listen, onNotified, stopped.signal).finally(forget)
    return () => stopped.abort(null)
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return
    this.#closed.abort(null)
    if (this.#isOwn) await this.#pool.end()
  }

  async #keepListening(listen: string, onNotified: () => void, signal: AbortSignal): Promise<void> {
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        const client = await this.#checkOut(signal)
        const ended = new Promise<void>(resolve => {
          client.on('end', () => resolve())
        })
        client.on('error', ignore)
        client.on('notification', onNotified)
        try {
          await this.#within(client.query(queryOf(listen, [])), signal)
          tries = 0
          // A slot may have been written while there was no connection.
          onNotified()
          await orAborted(ended, signal)
        } finally {
          // A connection that listens must not return to the pool.
          client.release(true)
        }
      } catch {
        // The caller looks at the log from time to time.
      }
      await this.#pause(tries, signal).catch(ignore)
    }
  }

  /** Get a connection to a primary server. */
  async #checkOut(signal: AbortSignal | undefined): Promise<PoolClient> {
    const connecting = this.#pool.connect()
    let client: PoolClient
    try {
      client = await this.#within(connecting, signal)
    } catch (error) {
      connecting.then(late => late.release(false), ignore)
      throw error
    }
    if (this.#primaries.has(client)) return client
    this.name = nameOf(client.host, client.port, client.database ?? '')
    try {
      const [row] = await this.#rowsOf(client, 'SELECT pg_is_in_recovery()', [], signal)
      if (row![0] === 't') throw this.#readOnly(undefined)
    } catch (error) {
      client.release(true)
      throw error
    }
    this.#primaries.add(client)
    return client
  }

  async #rowsOf(
    client: PoolClient,
    text: string,
    values: readonly unknown[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Row[]> {
    client.on('error', ignore)
    try {
      return (await this.#within(client.query(queryOf(text, values)), signal)).rows
    } finally {
      client.off('error', ignore)
    }
  }

  /** Wait for `work`, at most the time limit. */
  async #within<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const ms = this.#settings.timeoutMs
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new Error(`no answer within ${ms} ms`)), ms)
    const forget = signal && whenAborted(signal, () => controller.abort(signal.reason))
    try {
      return await orAborted(work, controller.signal)
    } finally {
      clearTimeout(timer)
      forget?.()
    }
  }

  #readOnly(cause: unknown): SheafError {
    return new SheafError(
      ErrorCode.ServiceUnavailable,
      `${this.name} is a standby or read-only, so it cannot keep the log`,
      {
        hint: 'connect to the primary server',
        cause,
      },
    )
  }
}

function queryOf(text: string, values: readonly unknown[]) {
  return { text, values: [...values], rowMode: 'array' as const, types }
}

function ignore(): void {}
