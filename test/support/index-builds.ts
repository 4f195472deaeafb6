/** A root whose indexes are built when a test says so, or not at all. */
import { indexJob } from '../../src/catalog/index-builds.js'
import type { CatalogJobKind } from '../../src/catalog/log-types.js'
import { resolveMaintenance } from '../../src/client/maintenance-settings.js'
import { Namespace } from '../../src/client/namespace.js'
import { bindOperations } from '../../src/engine/handlers.js'
import { jobKinds } from '../../src/engine/job-kinds.js'
import { OpenedRoot } from '../../src/engine/opened-root.js'
import { runTransaction } from '../../src/engine/transaction.js'
import { watchRoot } from '../../src/engine/watch.js'
import type { Change } from '../../src/manifest/change.js'
import { orAborted } from '../../src/primitives/abort.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { Engine } from '../../src/root/engine.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

export class Builder {
  /** Thrown by builds, where it is set. */
  failure: Error | null = null
  /** Of how many of the first rows of each fragment it keeps what it found. */
  share: (rows: number) => number = rows => rows
  #held: Promise<void> = Promise.resolve()
  #begun: () => void = () => {}

  /** Builds wait from now on before they land; `begun` when one does. */
  hold(): { readonly begun: Promise<void>; readonly release: () => void } {
    let release = () => {}
    this.#held = new Promise(resolve => {
      release = resolve
    })
    return {
      begun: new Promise(resolve => {
        this.#begun = resolve
      }),
      release,
    }
  }

  kind(engine: () => Engine): CatalogJobKind {
    return {
      name: indexJob,
      onOrphan: 'requeue',
      run: async job => {
        const real = jobKinds(engine(), [], []).find(({ name }) => name === indexJob)!
        const commit: typeof job.commit = async propose => {
          job.progress(1, 4, 'sorting')
          this.#begun()
          await orAborted(this.#held, job.signal)
          if (this.failure !== null) throw this.failure
          return job.commit((state, at) => {
            const proposal = propose(state, at)
            return proposal && { ...proposal, ops: proposal.ops.map(op => this.#cut(op as Change)) }
          })
        }
        await real.run!({ ...job, commit })
      },
    }
  }

  #cut(change: Change): Change {
    if (change.indexes === undefined) return change
    const indexes = change.indexes.map(each => {
      if (!('put' in each)) return each
      const segments = each.put.segments.map(segment => ({
        ...segment,
        cover: segment.cover.map(item => ({ ...item, count: this.share(item.count) })),
      }))
      return { put: { ...each.put, segments } }
    })
    return { ...change, indexes }
  }
}

export async function openWithBuilder(store = new MemoryStore('memory://')) {
  const builder = new Builder()
  const engine: OpenedRoot = await OpenedRoot.open(store, {
    location: 'memory://',
    create: true,
    readOnly: false,
    cacheBytes: 1 << 24,
    clock: systemClock,
    warn: () => {},
    keep: resolveMaintenance({ compact: false }),
    report: () => {},
    jobKinds: [builder.kind(() => engine)],
  })
  const ns = new Namespace(bindOperations(engine), () => engine.close(), {
    watch: (call = {}) => watchRoot(engine, call.signal),
    transaction: (work, call = {}) => runTransaction(engine, work, call),
    async optimize(call) {
      await engine.maintenance.finish(call?.signal)
      return { held: engine.held() }
    },
    snapshot: () => Promise.reject(new Error('no snapshots here')),
    tableAt: async () => null,
    stats: () => {
      throw new Error('no stats here')
    },
    verify: () => Promise.reject(new Error('no verification here')),
  })
  return { ns, ops: ns.operations, engine, builder, store }
}
