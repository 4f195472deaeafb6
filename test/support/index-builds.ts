/** A root whose indexes are built by a stand-in: they know which rows they have, and nothing of their values. */
import { type IndexSpec, indexJob } from '../../src/catalog/index-builds.js'
import type { CatalogState } from '../../src/catalog/state.js'
import type { Json } from '../../src/commit/machine.js'
import type { JobKind, JobRun } from '../../src/jobs/job-kind.js'
import { findFieldById } from '../../src/manifest/field-node.js'
import { fileName } from '../../src/manifest/file-names.js'
import { columnFile } from '../../src/manifest/layout.js'
import { type CoverItem, indexesFeature, type TableIndex } from '../../src/manifest/table-index.js'
import { openEngine } from '../../src/namespace/connect.js'
import { type Engine, openVersion } from '../../src/namespace/engine.js'
import { bindOperations } from '../../src/namespace/handlers.js'
import { tableOf } from '../../src/namespace/job-attempts.js'
import { Namespace } from '../../src/namespace/namespace.js'
import { runTransaction } from '../../src/namespace/transaction.js'
import { settleUpkeep } from '../../src/namespace/upkeep/upkeep-settings.js'
import { watchRoot } from '../../src/namespace/watch.js'
import { orAborted } from '../../src/primitives/abort.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { buildChange } from '../../src/write/build-change.js'

export class Builder {
  /** Thrown by builds, where it is set. */
  failure: Error | null = null
  /** Of how many of the first rows of each fragment it makes an index. */
  share: (rows: number) => number = rows => rows
  #held: Promise<void> = Promise.resolve()
  #begun: () => void = () => {}

  /** Builds wait from now on; `begun` when one does. */
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

  kind(engine: () => Engine): JobKind<CatalogState> {
    return { name: indexJob, onOrphan: 'requeue', run: job => this.#build(engine(), job) }
  }

  async #build(engine: Engine, job: JobRun): ReturnType<JobKind<CatalogState>['run']> {
    job.progress(1, 4, 'sorting')
    this.#begun()
    await orAborted(this.#held, job.signal)
    if (this.failure !== null) throw this.failure
    const spec = job.spec as unknown as IndexSpec
    const head = tableOf(await engine.root.refresh(), job, 'indexed')
    const { layout } = await openVersion(engine, head, head.mark)
    const column = findFieldById(layout.schema, spec.field)![0]!.id
    let first = 0
    const cover = layout.fragments.map((fragment): CoverItem => {
      const count = this.share(fragment.rows)
      first += count
      return { first: first - count, count, fragment: fragment.id, at: 0, file: columnFile(fragment, column) }
    })
    const file = fileName(engine.root.head, engine.clock.uuid())
    const segments = [{ file, bytes: 1000, crc: 0, rows: first, cover: cover.filter(item => item.count > 0) }]
    const put: TableIndex = { ...spec, segments }
    return (state, { firstBlob }) => {
      const now = tableOf(state, job, 'indexed')
      const { change } = buildChange(now, { kind: 'index', indexes: () => [{ put }] }, firstBlob)
      return { ops: [change as unknown as Json], need: [indexesFeature] }
    }
  }
}

export async function openWithBuilder(store = new MemoryStore('memory://')) {
  const builder = new Builder()
  const { engine, upkeep, close } = await openEngine(store, {
    location: 'memory://',
    create: true,
    readOnly: false,
    cacheBytes: 1 << 24,
    clock: systemClock,
    warn: () => {},
    keep: settleUpkeep({ compact: false }),
    report: () => {},
    jobKinds: [builder.kind(() => engine)],
  })
  const ns = new Namespace(bindOperations(engine), close, {
    watch: (call = {}) => watchRoot(engine.root, systemClock, call.signal),
    transaction: (work, call = {}) => runTransaction(engine, work, call),
    optimize: call => upkeep.finish(call?.signal),
    snapshot: () => Promise.reject(new Error('no snapshots here')),
    stats: () => {
      throw new Error('no stats here')
    },
    verify: () => Promise.reject(new Error('no verification here')),
  })
  return { ns, ops: ns.operations, engine, builder, store }
}
