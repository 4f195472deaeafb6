/**
 * Runs several operations as one commit. Before the commit, only the transaction itself sees their effects.
 *
 * The operations run on a draft: the newest state plus the effects of earlier operations of the transaction. Handlers
 * use the draft like a root. Their commits are applied to the draft, and their blobs go to a slot that exists only in
 * the draft. At the end, all operations are proposed as one entry. If another commit changed something that the
 * operations read, the entry is refused, and all operations run again. So transactions are serializable: everything
 * that a transaction read is unchanged in the state that its entry follows.
 */
import { applyOps } from '../catalog/apply.js'
import { CommitTooLate } from '../catalog/creation-slots.js'
import type { CatalogCommitted, CatalogEntry, CatalogPropose } from '../catalog/log-types.js'
import { tableNamed } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import { type CatalogState, pathKey } from '../catalog/state.js'
import { Namespace } from '../client/namespace.js'
import { runningCall } from '../client/transaction-scope.js'
import type { CommitOptions, SlotHeader } from '../commit/machine.js'
import type { Slot } from '../commit/slot.js'
import { formatTransactionId } from '../commit/transaction-id.js'
import { assert, ErrorCode, invalidInput, SheafError, unsupported } from '../errors.js'
import { type Change, withBlobsFrom } from '../manifest/change.js'
import { applyChange, type Layout } from '../manifest/layout.js'
import { union } from '../manifest/runs.js'
import { eachRecord } from '../manifest/slot-records.js'
import type { VersionRecord } from '../manifest/version.js'
import type { CallOptions, HandlerOptions, Operations } from '../protocol/calls.js'
import { type OperationName, operations } from '../protocol/operations.js'
import { newNamespaceOf } from '../protocol/table-shapes.js'
import { commitOptimistically } from '../root/commit.js'
import type { Engine, Root } from '../root/engine.js'
import { TableWriters } from '../root/table-writers.js'
import { bindOperations } from './handlers.js'

/**
 * Run `work` on a draft, and commit the result. If another commit changed something that `work` read, `work` runs again
 * from its beginning. From the second attempt on, transactions of this process wait for each other, and other calls of
 * this process back off from the tables that the last attempt read. Throws `ConcurrentModification` after 20 attempts.
 */
export async function runTransaction<T>(
  engine: Engine,
  work: (tx: Namespace) => Promise<T>,
  { signal }: CallOptions,
): Promise<T> {
  let draft: Draft | null = null
  const attempt = async () => {
    await engine.root.refresh(signal)
    draft = new Draft(engine, engine.root.state)
    return engine.retained.underWay.run(draft.head, () => attemptOn(engine, draft!, work, signal))
  }
  const { result } = await commitOptimistically(engine, attempt, {
    subject: 'data that the transaction read',
    tables: () => draft?.tables() ?? [],
    signal,
    urgentAttempt: 2,
    queue: 'transactions',
  })
  return result
}

/**
 * Run `work` on a draft once, and commit the result. Returns null if another commit changed something that `work` read.
 */
async function attemptOn<T>(
  engine: Engine,
  draft: Draft,
  work: (tx: Namespace) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<{ readonly result: T } | null> {
  try {
    const result = await work(draft.namespace())
    // A call that `work` did not await begins in the same turn of the event loop.
    await engine.clock.yield()
    draft.checkNoRunningCalls()
    return (await draft.commitAll(signal)) ? { result } : null
  } catch (error) {
    // The conflict may come from another commit. If data that the draft read has changed, a new attempt may succeed.
    const isConflict = error instanceof SheafError && error.code === ErrorCode.ConcurrentModification
    const now = isConflict ? await engine.root.refresh(signal) : null
    if (now !== null && !draft.isUnchangedIn(now)) return null
    throw error
  } finally {
    draft.close()
  }
}

/**
 * Operations that a transaction does not support, because a draft cannot provide their effect: uploads, read sessions,
 * jobs, versions of Lance engines, and calls about committed transactions.
 */
const unsupportedOperations: ReadonlySet<OperationName> = new Set<OperationName>([
  'registerTable',
  'createTableVersion',
  'batchCreateTableVersions',
  'batchCommitTables',
  'createTableUpload',
  'describeTableUpload',
  'completeTableUpload',
  'abortTableUpload',
  'createTableReadSession',
  'readTableSlice',
  'closeTableReadSession',
  'describeTransaction',
  'alterTransaction',
  'alterTableBackfillColumns',
  'createTableIndex',
  'createTableScalarIndex',
  'createMaterializedView',
  'refreshMaterializedView',
])

/**
 * The next slot number for a draft. No log reaches these numbers. Each draft has its own number, so that it cannot use
 * cache entries of another draft.
 */
let nextDraftSlot = 2 ** 52

/** The uncommitted state of one transaction. */
class Draft implements Root {
  /** The newest slot of the base state. Files that the transaction writes have this creation slot. */
  readonly head: number
  /** The slot number that stands for the draft's own entries and blobs when its versions are read. */
  readonly #number = nextDraftSlot++
  readonly #engine: Engine
  readonly #base: CatalogState
  readonly #txn: string
  readonly #slot: DraftSlot
  /** For each object that the operations read: a function that returns whether the object is unchanged in a state. */
  readonly #reads = new Map<string, (state: CatalogState) => boolean>()
  /** UUIDs of the tables that the operations read. */
  readonly #tables = new Set<string>()
  /** Names of need features, which a reader of the entry must know. */
  readonly #need = new Set<string>()
  #layouts = new Map<string, Promise<Layout>>()
  #state: CatalogState
  /** Number of calls that are running. */
  #running = 0
  #isOver = false

  constructor(engine: Engine, base: CatalogState) {
    this.#engine = engine
    this.head = engine.root.head
    this.#base = base
    this.#state = base
    this.#txn = engine.clock.uuid()
    this.#slot = new DraftSlot(this.#number)
  }

  get state(): CatalogState {
    return this.#state
  }

  async refresh(signal?: AbortSignal): Promise<CatalogState> {
    signal?.throwIfAborted()
    if (this.#isOver)
      throw invalidInput('this transaction is over', {
        hint: 'await all calls of a transaction inside its function',
      })
    return this.#state
  }

  async commit(propose: CatalogPropose, options?: CommitOptions): Promise<CatalogCommitted>
  async commit(propose: CatalogPropose<null>, options?: CommitOptions): Promise<CatalogCommitted | null>
  async commit(propose: CatalogPropose<null>, options: CommitOptions = {}): Promise<CatalogCommitted | null> {
    await this.refresh(options.signal)
    if (options.idempotency !== undefined) {
      throw invalidInput('idempotencyKey cannot be used inside of a transaction')
    }
    const entry = this.#slot.entries.length
    const at = { slot: this.#number, entry, ts: Math.floor(this.#engine.clock.now()) }
    const transactionId = formatTransactionId(this.#number, this.#txn)
    const firstBlob = this.#slot.blobs.length
    const proposal = propose(this.#state, { ...at, transactionId, firstBlob })
    if (proposal === null) return null
    const { ops, blobs = [], req = [], need = [] } = proposal
    this.#state = applyOps(this.#state, ops, this.#txn, at)
    const newEntry = { txn: this.#txn, req, ops }
    this.#slot.entries.push(newEntry)
    this.#slot.blobs.push(...blobs)
    for (const feature of need) this.#need.add(feature)
    for (const op of ops) {
      // If the transaction ends a job, this job must still be open at the commit.
      if (op.op === 'job')
        this.#noteRead(`job ${op.id}`, state => op.id === undefined || state.jobs.has(op.id))
    }
    return { txn: this.#txn, transactionId, at, entry: newEntry, state: this.#state }
  }

  /** Return the draft as a namespace. It can be used until `close` is called. */
  namespace(): Namespace {
    const { versions, source, clock } = this.#engine
    const { slots, history, layouts } = versions
    const ownSlots = {
      get: async (number: number, signal?: AbortSignal) =>
        number === this.#number ? this.#slot : slots.get(number, signal),
    }
    const engine: Engine = {
      ...this.#engine,
      root: this,
      versions: {
        ...versions,
        adopts: false,
        slots: ownSlots,
        history: {
          find: async (table, version, signal) =>
            this.#slot.record(table, version) ?? history.find(table, version, signal),
          range: async (table, first, last, signal) => [
            ...(await history.range(table, first, last, signal)),
            ...this.#slot.records(table).filter(({ version }) => version >= first && version <= last),
          ],
        },
        layouts: {
          at: (table, version, signal) => {
            const change = this.#slot.change(table.uuid, version)
            if (change === undefined) return layouts.at(table, version, signal)
            return this.#manifestAfter(change, before => engine.versions.layouts.at(table, before, signal))
          },
          // Do not use the cache whose keys are schema ids. If this draft is not committed, a later commit may give the
          // same id to another schema.
          schemaOf: async (table, _id, version, signal) =>
            (await engine.versions.layouts.at(table, version, signal)).schema,
        },
        // Null means that the changes are not known, so a write that conflicts is prepared again. In a draft, only calls
        // of the same transaction can conflict.
        recent: { between: () => null },
      },
      source: { ...source, slots: ownSlots },
      maintenance: { afterCommit: () => {} },
      writers: new TableWriters(clock),
    }
    const checkCall = (name: OperationName, request: unknown, options: HandlerOptions) => {
      if (unsupportedOperations.has(name)) throw unsupported(`${name} cannot be part of a transaction`)
      if ((request as NamedObjects).upload_id !== undefined) {
        throw unsupported('a part of an upload cannot be added inside a transaction')
      }
      this.#noteReads(name, request as NamedObjects, options)
    }
    return new Namespace(this.#counting(bindOperations(engine, checkCall)), async () => this.close())
  }

  /** Wrap the operations, so that the number of running calls is known. */
  #counting(target: Operations): Operations {
    const calls = Object.entries<(...args: unknown[]) => Promise<unknown>>(target as never)
    const counted = calls.map(([name, call]) => {
      const counting = async (...args: unknown[]) => {
        this.#running++
        try {
          return await call(...args)
        } finally {
          this.#running--
        }
      }
      return [name, counting]
    })
    return Object.fromEntries(counted) as Operations
  }

  /**
   * Check that no call is running when the function of the transaction ends, because a write that follows would not be
   * part of the transaction. Throws `InvalidInput`.
   */
  checkNoRunningCalls(): void {
    if (this.#running > 0) throw runningCall()
  }

  /** Commit all operations as one entry. Returns false if something that the operations read has changed. */
  async commitAll(signal: AbortSignal | undefined): Promise<boolean> {
    const { entries, blobs } = this.#slot
    if (entries.length === 0) return true
    const propose: CatalogPropose<null> = (state, { firstBlob }) => {
      if (!this.isUnchangedIn(state)) return null
      const ops = entries.flatMap(entry => entry.ops)
      const moved = ops.map(op => (op.op === 'change' ? withBlobsFrom(op, firstBlob) : op))
      const all = [...moved, ...this.#intermediateVersions()]
      const req = entries.flatMap(entry => entry.req)
      return { ops: all, blobs, req, need: [...this.#need] }
    }
    try {
      const committed = await this.#engine.root.commit(propose, { signal })
      if (committed !== null) this.#engine.maintenance.afterCommit(committed)
      return committed !== null
    } catch (error) {
      if (error instanceof CommitTooLate) return false
      throw error
    }
  }

  /** Return whether everything that the operations read is unchanged in a state. */
  isUnchangedIn(state: CatalogState): boolean {
    for (const isUnchanged of this.#reads.values()) if (!isUnchanged(state)) return false
    return true
  }

  /** Return the UUIDs of the tables that the operations read. */
  tables(): readonly string[] {
    return [...this.#tables]
  }

  close(): void {
    this.#isOver = true
  }

  /**
   * Return operations that expire the intermediate versions of the transaction. No other caller has seen them. Versions
   * that the transaction tagged are kept.
   */
  #intermediateVersions(): readonly CatalogOp[] {
    const versionsByTable = new Map<string, number[]>()
    for (const { t, v } of this.#slot.changes())
      versionsByTable.set(t, [...(versionsByTable.get(t) ?? []), v])
    const ops: CatalogOp[] = []
    for (const [t, versions] of versionsByTable) {
      const head = this.#state.tables.get(t)
      if (head === undefined) continue
      const tagged = new Set([...head.tags].map(([, version]) => version))
      const intermediate = versions.slice(0, -1).filter(v => !tagged.has(v))
      if (intermediate.length > 0) ops.push({ op: 'expire', t, runs: union(intermediate.map(v => [[v, v]])) })
    }
    return ops
  }

  /** Record the table or namespace that an operation reads. It must be unchanged when the transaction is committed. */
  #noteReads(name: OperationName, request: NamedObjects, { table }: HandlerOptions): void {
    const { target } = operations[name]
    const { id = [], new_table_name } = request
    if (table !== undefined) this.#noteRead(`table ${table}`, state => state.tables.get(table))
    else if (target === 'table') this.#noteName(id)
    else if (target === 'namespace') this.#noteNamespace(id)
    else this.#noteRead('all', state => state.tables)
    if (new_table_name !== undefined) {
      this.#noteName([...(newNamespaceOf(request) ?? id.slice(0, -1)), new_table_name])
    }
  }

  #noteName(id: readonly string[]): void {
    const parent = pathKey(id.slice(0, -1))
    this.#noteRead(`name ${pathKey(id)}`, state => tableNamed(state, id))
    this.#noteRead(`parent ${parent}`, state => state.namespaces.has(parent))
  }

  #noteNamespace(id: readonly string[]): void {
    const parent = pathKey(id.slice(0, -1))
    this.#noteRead(`namespace ${pathKey(id)}`, state => state.namespaces.get(pathKey(id)))
    this.#noteRead(`parent ${parent}`, state => state.namespaces.has(parent))
  }

  #noteRead(key: string, find: (state: CatalogState) => unknown): void {
    if (this.#reads.has(key)) return
    const found = find(this.#base)
    if (typeof found === 'object' && found !== null && 'uuid' in found) this.#tables.add(String(found.uuid))
    this.#reads.set(key, state => find(state) === found)
  }

  #manifestAfter(change: Change, layoutAt: (version: number) => Promise<Layout>): Promise<Layout> {
    const key = `${change.t}@${change.v}`
    let layout = this.#layouts.get(key)
    if (layout === undefined) {
      const before = change.restore?.version ?? change.base
      layout = (async () => applyChange(before === 0 ? null : await layoutAt(before), change, this.#number))()
      layout.catch(() => this.#layouts.delete(key))
      this.#layouts.set(key, layout)
    }
    return layout
  }
}

/** The fields of requests that contain names of objects. */
interface NamedObjects {
  readonly id?: readonly string[]
  readonly upload_id?: string
  readonly new_table_name?: string
  readonly new_namespace_id?: readonly string[]
  readonly to_root?: boolean
}

/** The entries and blobs of a draft in the form of a slot, so that the versions of the draft can be read. */
class DraftSlot implements Pick<Slot, 'header' | 'blob'> {
  readonly entries: CatalogEntry[] = []
  readonly blobs: Uint8Array[] = []
  readonly #number: number

  constructor(number: number) {
    this.#number = number
  }

  get header(): SlotHeader {
    return { f: 1, need: [], slot: this.#number, prev: '', by: '', ts: 0, blobs: [], entries: this.entries }
  }

  blob(index: number): Uint8Array {
    const blob = this.blobs[index]
    assert(blob !== undefined, `a transaction has no blob ${index}`)
    return blob
  }

  changes(): readonly Change[] {
    const ops = this.entries.flatMap(({ ops }) => ops)
    return ops.filter(op => op.op === 'change')
  }

  change(table: string, version: number): Change | undefined {
    return this.changes().find(({ t, v }) => t === table && v === version)
  }

  records(table: string): readonly VersionRecord[] {
    const records: VersionRecord[] = []
    eachRecord(this, (t, record) => {
      if (t === table) records.push(record)
    })
    return records
  }

  record(table: string, version: number): VersionRecord | undefined {
    return this.records(table).find(record => record.version === version)
  }
}
