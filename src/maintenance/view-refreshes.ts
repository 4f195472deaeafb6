/** Queues refreshes of views that follow their sources by themselves. */
import type { CatalogState } from '../catalog/state.js'
import { latestOf } from '../catalog/state.js'
import type { Committed, Json } from '../commit/machine.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import type { Engine } from '../root/engine.js'
import { refreshOp, sourceOf } from '../root/refresh-request.js'
import type { Chore } from './maintenance.js'

/** How long after a commit, so that what others commit soon after is seen to by the same refresh, milliseconds. */
const gatherMs = 500

export class ViewRefreshes implements Chore {
  readonly name = 'refreshing views'
  readonly #engine: () => Engine
  readonly #clock: Clock
  /** By view, the version of its source that was there when a refresh was queued last: one that fails is not tried on it again. */
  readonly #queued = new Map<string, string>()
  /** The tables at the last look. */
  #seen: CatalogState['tables'] | null = null
  /** When there may be something to do. */
  #due = Number.POSITIVE_INFINITY

  constructor(engine: () => Engine, clock: Clock) {
    this.#engine = engine
    this.#clock = clock
  }

  noteCommit({ state }: Committed<CatalogState>): void {
    if (state.following.size === 0) this.#queued.clear()
    if (state.following.size === 0 || this.#due < Number.POSITIVE_INFINITY) return
    // Which views it left behind takes a look at each of them.
    if (state.tables !== this.#seen) this.#due = this.#clock.elapsed() + gatherMs
  }

  dueIn(): number {
    return this.#due === Number.POSITIVE_INFINITY ? this.#due : Math.max(0, this.#due - this.#clock.elapsed())
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    // What is committed from here on makes it due again.
    this.#due = Number.POSITIVE_INFINITY
    try {
      await this.#refresh(thorough, signal)
    } catch (error) {
      this.#due = this.#clock.elapsed()
      throw error
    }
  }

  async #refresh(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { root, jobs, calls } = this.#engine()
    const pacer = new Pacer(signal, this.#clock, calls)
    if (thorough) this.#queued.clear()
    // A view may be the source of another. Who commits to sources all the while does not keep this from ending.
    const passes = thorough ? root.state.following.size : 1
    for (let pass = 0; pass < passes; pass++) {
      const behind = await this.#behind(root.state, pacer)
      if (behind.length === 0) return
      for (const { view, target } of behind) {
        signal.throwIfAborted()
        const job = await this.#queue(view)
        this.#queued.set(view, target)
        if (thorough && job !== null) await jobs.settled(job, signal)
      }
    }
  }

  /** The job that will refresh a view; null when there is nothing to do any more. */
  async #queue(view: string): Promise<string | null> {
    let waiting: string | null = null
    try {
      const { transactionId } = await this.#engine().root.commit(state => {
        const head = state.tables.get(view)
        if (head === undefined || behindTarget(state, view) === null) throw notNeeded
        const op = refreshOp(state, head, {})
        if (typeof op !== 'string') return { ops: [op as unknown as Json] }
        waiting = op
        throw notNeeded
      })
      return transactionId
    } catch (error) {
      if (error === notNeeded) return waiting
      throw error
    }
  }

  /** Views that want a refresh which was not queued yet; what is known of those that are gone is forgotten. */
  async #behind(
    state: CatalogState,
    pacer: Pacer,
  ): Promise<readonly { readonly view: string; readonly target: string }[]> {
    const behind: { view: string; target: string }[] = []
    this.#seen = state.tables
    for (const view of state.following.keys()) {
      const target = behindTarget(state, view)
      if (target !== null && this.#queued.get(view) !== target) behind.push({ view, target })
      if (pacer.due()) await pacer.pause()
    }
    for (const view of this.#queued.keys()) if (!state.following.has(view)) this.#queued.delete(view)
    return behind
  }
}

const notNeeded = new Error('not needed')

/** The version of its source that a view does not show yet, named among all; null when it does. */
function behindTarget(state: CatalogState, uuid: string): string | null {
  const view = state.tables.get(uuid)?.view
  if (view == null) return null
  const source = sourceOf(state, view)
  const latest = source && latestOf(source)
  if (latest === undefined) return null
  const { src } = view
  return src?.uuid === source!.uuid && src.version === latest ? null : `${source!.uuid}@${latest}`
}
