/**
 * The order of the calls of this process that write to the same table. It prevents repeated work, not wrong results: a
 * commit is decided on the state that its entry follows, whichever call comes first.
 *
 * - A call on a table's newest version takes a turn. No turn waits for a client.
 * - A call that creates a table holds its name while it receives rows. The next such call finds the created table.
 * - A call that lost several races has priority. Other calls wait before they commit, at most 200 ms.
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
   * Run `work` after earlier work in a turn of any of the tables. Rejects with `signal.reason` while it waits.
   *
   * `ids`: paths of tables, which may repeat.
   */
  inTurn<T>(ids: readonly (readonly string[])[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#turns.runAll(ids.map(pathKey), work, signal)
  }

  /** Run `work`, which creates the table of path `id`, after earlier work that does. Rejects with `signal.reason` while it waits. */
  creating<T>(id: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#creations.run(pathKey(id), work, signal)
  }

  /** Wait until no call with priority runs on the tables `uuids`, at most 200 ms for each. Rejects with `signal.reason`. */
  async yield(uuids: readonly string[], signal?: AbortSignal): Promise<void> {
    for (const uuid of uuids) await this.#urgent.yield(uuid, signal)
  }

  /**
   * Run `work` with priority on the tables `uuids`. A caller that passed `yield` before may still win one race against
   * `work`, so `work` should try twice.
   */
  urgently<T>(uuids: readonly string[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // All callers take tables in the same order, so none waits for a call that waits for it.
    return [...new Set(uuids)]
      .sort()
      .reduceRight((next, uuid) => () => this.#urgent.run(uuid, next, signal), work)()
  }
}
