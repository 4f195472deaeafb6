/** Queues refreshes of views with automatic refresh. */
import type { CatalogCommitted } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import { latestOf } from '../catalog/state.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import type { Engine } from '../root/engine.js'
import { refreshOp, sourceOf } from '../root/refresh-request.js'
import type { MaintenanceTask } from './maintenance.js'

/** Delay after a commit in milliseconds, so that one refresh includes several commits in short succession. */
const gatherMs = 500

export class ViewRefreshes implements MaintenanceTask {
  readonly name = 'refreshing views'
  readonly #engine: Engine
  readonly #clock: Clock
  /**
   * By uuid of a view: the version of its source for which a refresh was queued last. If that refresh fails, it is not
   * repeated for the same version.
   */
  readonly #queued = new Map<string, string>()
  /** The tables of the state that was checked last. */
  #seen: CatalogState['tables'] | null = null
  /** The time on the monotonic clock when views may have to be refreshed. */
  #due = Number.POSITIVE_INFINITY

  constructor(engine: Engine) {
    this.#engine = engine
    this.#clock = engine.clock
  }

  noteCommit({ state }: CatalogCommitted): void {
    if (state.following.size === 0) this.#queued.clear()
    if (state.following.size === 0 || this.#due < Number.POSITIVE_INFINITY) return
    // Only check whether any table changed. `work` determines which views are outdated, because that takes longer.
    if (state.tables !== this.#seen) this.#due = this.#clock.elapsed() + gatherMs
  }

  noteMissed(): void {
    this.#due = this.#clock.elapsed() + gatherMs
  }

  dueIn(): number {
    return this.#due === Number.POSITIVE_INFINITY ? this.#due : Math.max(0, this.#due - this.#clock.elapsed())
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    // Reset the time first, so that commits during the work make the task due again.
    this.#due = Number.POSITIVE_INFINITY
    try {
      await this.#refresh(thorough, signal)
    } catch (error) {
      this.#due = this.#clock.elapsed()
      throw error
    }
  }

  async #refresh(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { root, jobs, running } = this.#engine
    const pacer = new Pacer(signal, this.#clock, running.calls)
    if (thorough) this.#queued.clear()
    // A view may be the source of another view, so one pass may not be enough. The number of passes is bounded, because
    // steady commits would otherwise keep this loop running.
    const passes = thorough ? root.state.following.size : 1
    for (let pass = 0; pass < passes; pass++) {
      const outdated = await this.#outdated(root.state, pacer)
      if (outdated.length === 0) return
      for (const { view, target } of outdated) {
        signal.throwIfAborted()
        const job = await this.#queue(view)
        this.#queued.set(view, target)
        if (thorough && job !== null) await jobs.settled(job, signal)
      }
    }
  }

  /**
   * Queue a refresh of a view. Returns the id of the new job, or of a queued job that will refresh the view. Returns
   * null if the view is up to date.
   */
  async #queue(view: string): Promise<string | null> {
    let waiting: string | null = null
    const committed = await this.#engine.root.commit(state => {
      waiting = null
      const head = state.tables.get(view)
      if (head === undefined || behindTarget(state, view) === null) return null
      const op = refreshOp(state, head, {})
      if (typeof op !== 'string') return { ops: [op] }
      waiting = op
      return null
    })
    return committed?.transactionId ?? waiting
  }

  /** Return the outdated views for which no refresh was queued yet. Forgets views that no longer exist. */
  async #outdated(
    state: CatalogState,
    pacer: Pacer,
  ): Promise<readonly { readonly view: string; readonly target: string }[]> {
    const outdated: { view: string; target: string }[] = []
    this.#seen = state.tables
    for (const view of state.following.keys()) {
      const target = behindTarget(state, view)
      if (target !== null && this.#queued.get(view) !== target) outdated.push({ view, target })
      if (pacer.due()) await pacer.pause()
    }
    for (const view of this.#queued.keys()) if (!state.following.has(view)) this.#queued.delete(view)
    return outdated
  }
}

/**
 * Return the newest version of a view's source, as `uuid@version`, if the view does not show it yet. Returns null if
 * the view is up to date or has no source.
 */
function behindTarget(state: CatalogState, uuid: string): string | null {
  const view = state.tables.get(uuid)?.view
  if (view == null) return null
  const source = sourceOf(state, view)
  const latest = source && latestOf(source)
  if (latest === undefined) return null
  const { src } = view
  return src?.uuid === source!.uuid && src.version === latest ? null : `${source!.uuid}@${latest}`
}
