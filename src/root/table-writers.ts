/**
 * Orders the calls of this process that write to the same table, so that they do not repeat work after conflicts.
 * Results are correct in any order, because a commit is decided on the state that its entry follows.
 *
 * - Calls that change the newest version of a table run one after the other. None of them waits for a client.
 * - Calls that create a table of the same name run one after the other, each while it receives its rows. The next call
 *   finds the created table.
 * - A call that has conflicted several times gets priority. Other calls wait at most 200 ms before they commit.
 */
import { pathKey } from '../catalog/state.js'
import type { Clock } from '../primitives/clock.js'
import { KeyedMutex } from '../primitives/keyed-mutex.js'
import { PriorityBackoff } from '../primitives/priority-backoff.js'

/** Orders the writers of each table. */
export class TableWriters {
  readonly #turns = new KeyedMutex()
  readonly #creations = new KeyedMutex()
  readonly #urgent: PriorityBackoff

  constructor(clock: Clock) {
    this.#urgent = new PriorityBackoff(clock)
  }

  /**
   * Run `work` after all earlier work on any of the tables has ended. `ids`: the paths of the tables; duplicates are
   * allowed. Rejects with `signal.reason` if the signal aborts during the wait.
   */
  inTurn<T>(ids: readonly (readonly string[])[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#turns.runAll(ids.map(pathKey), work, signal)
  }

  /**
   * Run `work`, which creates the table with the path `id`, after all earlier work that creates this table has ended.
   * Rejects with `signal.reason` if the signal aborts during the wait.
   */
  creating<T>(id: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#creations.run(pathKey(id), work, signal)
  }

  /**
   * Wait until no call with priority runs on the tables `uuids`, at most 200 ms per table. Rejects with `signal.reason`
   * if the signal aborts.
   */
  async yield(uuids: readonly string[], signal?: AbortSignal): Promise<void> {
    for (const uuid of uuids) if (this.#urgent.isBusy(uuid)) await this.#urgent.yield(uuid, signal)
  }

  /** Return whether a call with priority runs on the table `uuid`. */
  isUrgent(uuid: string): boolean {
    return this.#urgent.isBusy(uuid)
  }

  /**
   * Run `work` with priority on the tables `uuids`. A call that passed `yield` earlier may still commit once before
   * `work`, so `work` should try twice.
   */
  urgently<T>(uuids: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // All calls lock the tables in the same order, so that no two calls wait for each other.
    return [...new Set(uuids)]
      .sort()
      .reduceRight((next, uuid) => () => this.#urgent.run(uuid, next, signal), work)()
  }
}
