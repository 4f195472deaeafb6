/**
 * Applies the operations of the log to the catalog state. The functions here are synchronous and pure. Their cost
 * depends on the size of the operations, not of the state. They never refuse an operation, because the writer checked
 * every entry before it appended the slot. So a failed assertion here means that the log is corrupted.
 */
import { slotOfCheckpoint } from '../commit/checkpoints.js'
import type { Entry, Genesis, Machine, Position } from '../commit/machine.js'
import { packsFeature } from '../commit/packs.js'
import { movedFeature } from '../commit/slot.js'
import { formatTransactionId } from '../commit/transaction-id.js'
import { assert, quote, unsupported } from '../errors.js'
import { type JobEndedOp, type JobOp, jobsAfter, jobUnitsFeature } from '../jobs/job-op.js'
import { type Change, fragmentsLeaving, movesFeature } from '../manifest/change.js'
import { versionsPerBase } from '../manifest/layout-base.js'
import { difference, hasNumber, intersection, lastOf, union } from '../manifest/runs.js'
import { indexFeatures } from '../manifest/table-index.js'
import type { RegisterOp, TakenOp, VersionOp } from '../manifest/version.js'
import { loadState, saveState } from './checkpoint.js'
import { compactionJob } from './compaction-job.js'
import { checkCreationSlots } from './creation-slots.js'
import { buildsAfterChange, buildsAfterJob } from './index-builds.js'
import {
  type AttachOp,
  type CatalogOp,
  type CheckpointOp,
  checkpointsFeature,
  type DeclareOp,
  type DropOp,
  type DroppedOp,
  type ExpireOp,
  type NamespaceOp,
  type PropsOp,
  type RenameOp,
  type ShowsOp,
  type SweepOp,
  sweepFeature,
  type TagOp,
  type TxnOp,
  type ViewOp,
} from './ops.js'
import {
  type CatalogState,
  emptyState,
  isUnused,
  type Job,
  knownChanges,
  type NamespaceNode,
  newNamespace,
  newTable,
  pathKey,
  type TableHead,
  withTables,
  withVersion,
} from './state.js'
import { addPart, beginUpload, endUpload, loseUploads, uploadsFeature } from './uploads.js'

/** The state machine of the catalog. */
export const catalogMachine: Machine<CatalogState, CatalogOp> = {
  features: new Set([
    movesFeature,
    sweepFeature,
    packsFeature,
    checkpointsFeature,
    uploadsFeature,
    movedFeature,
    jobUnitsFeature,
    ...indexFeatures,
  ]),
  initial: (genesis: Genesis) => emptyState(genesis.root),
  apply(state, entry, at) {
    const applied = applyOps(state, entry.ops, entry.txn, at)
    return entry.key === undefined ? applied : withKey(applied, entry, at)
  },
  check: (state, entry) => checkCreationSlots(state, entry.ops),
  save: saveState,
  load: loadState,
}

/** Return the state after `ops` of transaction `txn`. */
export function applyOps(
  state: CatalogState,
  ops: readonly CatalogOp[],
  txn: string,
  at: Position,
): CatalogState {
  return ops.reduce((next, op) => applyOp(next, op, txn, at), state)
}

/** Number of checkpoints that are kept. One would be enough, but it may be damaged. */
const keptCheckpoints = 2

function applyOp(state: CatalogState, op: CatalogOp, txn: string, at: Position): CatalogState {
  switch (op.op) {
    case 'namespace':
      return applyNamespace(state, op, at)
    case 'declare':
      return applyDeclare(state, op)
    case 'register':
      return applyRegister(state, op)
    case 'attach':
      return applyAttach(state, op)
    case 'deregister':
      return applyDeregister(state, op.t)
    case 'drop':
      return applyDrop(state, op, at)
    case 'dropped':
      return applyDropped(state, op)
    case 'rename':
      return applyRename(state, op)
    case 'props':
      return applyProps(state, op)
    case 'tag':
      return applyTag(state, op)
    case 'expire':
      return applyExpire(state, op, at)
    case 'sweep':
      return applySweep(state, op, at)
    case 'checkpoint':
      return applyCheckpoint(state, op, at)
    case 'version':
      return applyVersion(state, op)
    case 'taken':
      return applyTaken(state, op)
    case 'view':
      return applyView(state, op)
    case 'shows':
      return applyShows(state, op)
    case 'change':
      return applyTableChange(state, op, at)
    case 'txn':
      return applyTxn(state, op, at)
    case 'job':
      return applyJob(state, op, txn, at)
    case 'upload':
      return { ...state, ...beginUpload(state, op, formatTransactionId(at.slot, txn)) }
    case 'part':
      return { ...state, ...addPart(state, op) }
    case 'uploaded':
      return { ...state, ...endUpload(state, op, at.ts) }
    // Where the log goes on is not part of the state.
    case 'moved':
      return state
    default:
      throw unknownOperation(op)
  }
}

function unknownOperation(op: never): Error {
  const name = quote((op as { readonly op?: unknown }).op)
  return unsupported(`the log contains the operation ${name}, which this version of Sheaf does not support`, {
    hint: 'open this root with the version of Sheaf that wrote it, or with a later version',
  })
}

function withKey(state: CatalogState, { key, hash }: Entry, { slot, entry, ts }: Position): CatalogState {
  assert(hash !== undefined, `the entry with the idempotency key ${quote(key)} has no hash`)
  return { ...state, keys: state.keys.set(key!, { hash, slot, entry }, ts) }
}

// ---- names

function applyNamespace(state: CatalogState, { id, props }: NamespaceOp, at: Position): CatalogState {
  const name = id.at(-1)
  assert(name !== undefined, 'the root namespace cannot be created or removed')
  const key = pathKey(id)
  const parent = namespaceAt(state, id.slice(0, -1))
  if (props === null) {
    return withNode(withoutSubtree(state, id, at), { ...parent, namespaces: parent.namespaces.delete(name) })
  }
  const known = state.namespaces.get(key)
  if (known !== undefined) return withNode(state, { ...known, props })
  const added = withNode(state, newNamespace(id, props))
  return withNode(added, { ...parent, namespaces: parent.namespaces.set(name, true) })
}

/** Remove a namespace and everything below it. */
function withoutSubtree(state: CatalogState, top: readonly string[], { slot, ts }: Position): CatalogState {
  let { namespaces, tables, external, following, drops, failedBuilds } = state
  const pending = [top]
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const node = namespaceAt(state, id)
    for (const [, uuid] of node.tables) {
      const head = tableAt(state, uuid)
      tables = tables.delete(uuid)
      following = following.delete(uuid)
      failedBuilds = failedBuilds.delete(uuid)
      if (head.external) external = external.delete(head.location)
      else drops = drops.set(head.location, { uuid, slot, ts })
    }
    for (const name of node.namespaces.keys()) pending.push([...id, name])
    namespaces = namespaces.delete(pathKey(id))
  }
  return { ...state, namespaces, tables, external, following, drops, failedBuilds }
}

function applyDeclare(state: CatalogState, { t, id, location, props }: DeclareOp): CatalogState {
  return withTable(state, newTable(t, id, props, location))
}

function applyRegister(state: CatalogState, op: RegisterOp): CatalogState {
  const live = union(op.versions.map(([version]) => [[version, version]]))
  const head = newTable(op.t, op.id, op.props, op.location)
  const mark = lastOf(live) ?? 0
  return withTable(state, { ...head, kind: live.length === 0 ? 'declared' : 'lance', live, mark })
}

function applyAttach(state: CatalogState, { t, location, id, props }: AttachOp): CatalogState {
  const head = state.detached.get(location)
  assert(head?.uuid === t, `table ${t} is not deregistered`)
  return withTable({ ...state, detached: state.detached.delete(location) }, { ...head, id, props })
}

function applyDeregister(state: CatalogState, t: string): CatalogState {
  const head = tableAt(state, t)
  const without = withoutTableAndBuilds(state, head)
  return { ...without, detached: without.detached.set(head.location, head) }
}

function applyDrop(state: CatalogState, { t }: DropOp, { slot, ts }: Position): CatalogState {
  const head = tableAt(state, t)
  const without = withoutTableAndBuilds(state, head)
  return head.external
    ? { ...without, external: without.external.delete(head.location) }
    : { ...without, drops: without.drops.set(head.location, { uuid: t, slot, ts }) }
}

function applyDropped(state: CatalogState, { location }: DroppedOp): CatalogState {
  assert(state.drops.has(location), `${location} is not in the queue of drops`)
  return { ...state, drops: state.drops.delete(location) }
}

function applyRename(state: CatalogState, { t, id }: RenameOp): CatalogState {
  const head = tableAt(state, t)
  return withTable(withoutTable(state, head), { ...head, id })
}

/** Add a table under its name. */
function withTable(state: CatalogState, head: TableHead): CatalogState {
  const name = head.id.at(-1)
  assert(name !== undefined, `table ${head.uuid} has no name`)
  const parent = namespaceAt(state, head.id.slice(0, -1))
  assert(!parent.tables.has(name) && !state.tables.has(head.uuid), `table ${head.uuid} exists already`)
  const named = withNode(state, { ...parent, tables: parent.tables.set(name, head.uuid) })
  const listed = head.external ? { ...named, external: named.external.set(head.location, head.uuid) } : named
  return withHead(withFollower(listed, head), head)
}

function withFollower(state: CatalogState, { uuid, view }: TableHead): CatalogState {
  if (view?.definition.auto_refresh !== true) return state
  return { ...state, following: state.following.set(uuid, true) }
}

function withoutTable(state: CatalogState, head: TableHead): CatalogState {
  const parent = namespaceAt(state, head.id.slice(0, -1))
  const unnamed = withNode(state, { ...parent, tables: parent.tables.delete(head.id.at(-1)!) })
  const { uuid } = head
  return { ...unnamed, tables: unnamed.tables.delete(uuid), following: unnamed.following.delete(uuid) }
}

/** Remove a table and its failed index builds. */
function withoutTableAndBuilds(state: CatalogState, head: TableHead): CatalogState {
  return { ...withoutTable(state, head), failedBuilds: state.failedBuilds.delete(head.uuid) }
}

// ---- tables

function applyProps(state: CatalogState, { t, set }: PropsOp): CatalogState {
  const head = tableAt(state, t)
  return withHead(state, { ...head, props: { ...head.props, ...set } })
}

function applyTag(state: CatalogState, { t, name, v }: TagOp): CatalogState {
  const head = tableAt(state, t)
  return withHead(state, { ...head, tags: v === null ? head.tags.delete(name) : head.tags.set(name, v) })
}

function applyExpire(state: CatalogState, { t, runs }: ExpireOp, { slot }: Position): CatalogState {
  const head = tableAt(state, t)
  const after = withHead(state, { ...head, live: difference(head.live, runs) })
  return head.kind === 'sheaf' ? { ...after, expired: state.expired.push({ slot, t, runs }) } : after
}

function applySweep(state: CatalogState, { floor }: SweepOp, { ts }: Position): CatalogState {
  assert(
    floor > state.sweep.floor,
    `the GC watermark cannot go back from slot ${state.sweep.floor} to slot ${floor}`,
  )
  const expired = state.expired.dropWhile(({ slot }) => slot <= floor)
  return { ...state, ...loseUploads(state, floor, ts), sweep: { floor, ts }, expired }
}

function applyCheckpoint(state: CatalogState, { name }: CheckpointOp, at: Position): CatalogState {
  const slot = slotOfCheckpoint(name)
  const last = state.checkpoints.at(-1)
  assert(slot !== null && slot < at.slot, `${quote(name)} is not a checkpoint of an earlier slot`)
  assert(
    last === undefined || slot >= last.at,
    `the checkpoint ${name} is older than slot ${last?.at}, in which another checkpoint was recorded`,
  )
  const checkpoints = [...state.checkpoints, { name, slot, at: at.slot }].slice(-keptCheckpoints)
  return { ...state, checkpoints }
}

function applyVersion(state: CatalogState, { t, v, kind }: VersionOp): CatalogState {
  const head = tableAt(state, t)
  assert(isUnused(head, v), `version ${v} of table ${t} was used before`)
  return withHead(state, withVersion(head, kind, v))
}

function applyTaken(state: CatalogState, { t, v }: TakenOp): CatalogState {
  const head = tableAt(state, t)
  assert(head.kind === 'lance' && hasNumber(head.live, v), `table ${t} has no version ${v} of a Lance engine`)
  return withHead(state, { ...head, mark: v, live: intersection(head.live, [[0, v]]) })
}

function applyView(state: CatalogState, { t, definition }: ViewOp): CatalogState {
  const head = { ...tableAt(state, t), view: { definition, src: null } }
  return withHead(withFollower(state, head), head)
}

function applyShows(state: CatalogState, { t, src }: ShowsOp): CatalogState {
  const head = tableAt(state, t)
  assert(head.view !== null, `table ${t} is not a view`)
  return withHead(state, { ...head, view: { ...head.view, src } })
}

function applyTableChange(state: CatalogState, change: Change, { slot }: Position): CatalogState {
  const head = tableAt(state, change.t)
  const latest = lastOf(head.live) ?? 0
  assert(
    change.base === latest,
    `version ${change.v} of table ${change.t} is based on version ${change.base}, not on ${latest}`,
  )
  assert(
    (change.start ?? head.start) === head.start,
    `version ${change.v} of table ${change.t} has the start ${change.start}, but the table has ${head.start}`,
  )
  assert(
    change.v === head.mark + 1,
    `version ${change.v} of table ${change.t} does not follow version ${head.mark}`,
  )
  const fragments =
    change.restore?.fragments ?? head.fragments + change.add.length - fragmentsLeaving(change).length
  const hasNewBase = change.v - head.start >= versionsPerBase
  const known = hasNewBase || change.restore !== undefined ? null : knownChanges(head)
  const layout = {
    next: change.next,
    schemaId: change.schema?.id ?? head.schemaId,
    start: hasNewBase ? change.v : head.start,
    changes: known === null ? [] : [...known, slot],
    fragments,
  }
  const after = withHead(state, withVersion(head, 'sheaf', change.v, layout))
  if (change.indexes === undefined) return after
  return { ...after, failedBuilds: buildsAfterChange(state.failedBuilds, change.t, change.indexes) }
}

// ---- transactions

function applyTxn(state: CatalogState, { id, set, unset }: TxnOp, { ts }: Position): CatalogState {
  const removed = new Set(unset)
  const change = (props: TableHead['props']) =>
    Object.fromEntries(Object.entries({ ...props, ...set }).filter(([key]) => !removed.has(key)))
  const job = state.jobs.get(id)
  if (job !== undefined) return { ...state, jobs: state.jobs.set(id, { ...job, props: change(job.props) }) }
  const note = state.notes.get(id) ?? { status: 'Succeeded' as const, props: {} }
  return { ...state, notes: state.notes.set(id, { ...note, props: change(note.props) }, ts) }
}

function applyJob(state: CatalogState, op: JobOp, txn: string, { slot, ts }: Position): CatalogState {
  const id = op.id ?? formatTransactionId(slot, txn)
  const props = (op.state === 'Queued' ? op.props : undefined) ?? {}
  const jobs = jobsAfter<Job>(state.jobs, op, id, job => ({ ...job, props }))
  const before = state.jobs.get(id)
  const after = jobs.get(id)
  const failedBuilds = buildsAfterJob(state.failedBuilds, after ?? before!, op, state.tables)
  if (after !== undefined || !isNoted(before!)) return { ...state, jobs, failedBuilds }
  const { kind, table } = before!
  const { state: status, reason } = op as JobEndedOp
  const note = {
    status,
    props: before!.props,
    kind,
    ...(table !== null && { table }),
    ...(reason !== undefined && { reason }),
  }
  return { ...state, jobs, notes: state.notes.set(id, note, ts), failedBuilds }
}

/** Return whether the outcome of a job is recorded. No caller asked for compactions and units. */
function isNoted({ kind, of }: Job): boolean {
  return of === undefined && kind !== compactionJob
}

// ---- access

function namespaceAt(state: CatalogState, id: readonly string[]): NamespaceNode {
  const node = state.namespaces.get(pathKey(id))
  assert(node !== undefined, `namespace ${JSON.stringify(id)} does not exist`)
  return node
}

function tableAt(state: CatalogState, uuid: string): TableHead {
  const head = state.tables.get(uuid)
  assert(head !== undefined, `table ${uuid} does not exist`)
  return head
}

function withNode(state: CatalogState, node: NamespaceNode): CatalogState {
  return { ...state, namespaces: state.namespaces.set(pathKey(node.id), node) }
}

function withHead(state: CatalogState, head: TableHead): CatalogState {
  return withTables(state, state.tables.set(head.uuid, head))
}
