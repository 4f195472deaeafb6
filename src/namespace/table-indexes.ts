/** The indexes of a table as its handle shows them. */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { ScalarKind } from '../indexes/scalar/probe.js'
import { deadline } from '../primitives/abort.js'
import { systemClock } from '../primitives/clock.js'
import type { CallOptions, Operations, Reply } from '../protocol/calls.js'
import type { Watch } from './changes.js'
import { pauses } from './job-ended.js'

export interface CreateIndexOptions extends CallOptions {
  /**
   * What it finds rows by: `BTREE` (default) and `BITMAP` by values and ranges of values, the latter best where there are few of
   * them; `LABEL_LIST` by elements of lists.
   */
  readonly type?: ScalarKind
  /** Default: that of the column, with `_` for dots, and `_idx`. */
  readonly name?: string
  /** Whether it takes the place of another index of that name. Default true. */
  readonly replace?: boolean
  /** Milliseconds to wait until it is built, as `waitForIndex` does. Default: none, the call returns at once. */
  readonly waitTimeoutMs?: number
}

export interface WaitForIndexOptions extends CallOptions {
  /** Milliseconds. Default: as long as it takes. */
  readonly timeoutMs?: number
}

export interface IndexInfo {
  readonly name: string
  /** New with every definition. */
  readonly uuid: string
  /** Paths of the columns it finds rows by. */
  readonly columns: readonly string[]
  readonly type: string
  /**
   * `pending`: waits to be built; `building`; `ready`: has all rows; `stale`: lacks some, which queries look at one by one;
   * `failed`: could not be built, `reason` says why.
   */
  readonly status: 'pending' | 'building' | 'ready' | 'stale' | 'failed'
  /** Living rows that it has. */
  readonly indexedRows: number
  /** Living rows that it lacks. */
  readonly unindexedRows: number
  readonly segments: number
  readonly bytes: number
  readonly created: Date
  readonly reason?: string
}

export interface IndexStats {
  readonly type: string
  /** Of a vector index. */
  readonly distanceType: string | null
  readonly status: IndexInfo['status']
  /** Living rows that it has. */
  readonly indexedRows: number
  /** Living rows that it lacks. */
  readonly unindexedRows: number
  readonly segments: number
  readonly reason?: string
  /** How far its construction is: of `total` steps, `done`. */
  readonly progress?: { readonly done: number; readonly total: number; readonly phase: string }
}

/** A table as far as its indexes are concerned. */
interface Indexed {
  readonly operations: Operations
  readonly id: readonly string[]
  /** Absent where one has to ask. */
  readonly watch: Watch | undefined
}

export async function createIndex(
  { operations, id, watch }: Indexed,
  column: string,
  { type = 'BTREE', name, replace = true, waitTimeoutMs, ...call }: CreateIndexOptions,
): Promise<{ readonly name: string }> {
  checkMs('waitTimeoutMs', waitTimeoutMs)
  const request = { id, column, index_type: type, replace, ...(name !== undefined && { name }) }
  const { index_name } = await operations.createTableIndex(request, call)
  if (waitTimeoutMs !== undefined) {
    await indexesBuilt({ operations, id, watch }, [index_name], { ...call, timeoutMs: waitTimeoutMs })
  }
  return { name: index_name }
}

export async function indexesAt(
  operations: Operations,
  at: { readonly id: readonly string[]; readonly version?: number },
  call: CallOptions,
): Promise<readonly IndexInfo[]> {
  return (await operations.listTableIndices(at, call)).indexes.map(infoOf)
}

type IndexRecord = Reply<'listTableIndices'>['indexes'][number]

function infoOf(record: IndexRecord): IndexInfo {
  return {
    name: record.index_name,
    uuid: record.index_uuid,
    columns: record.columns,
    type: record.index_type,
    status: record.status,
    indexedRows: record.num_indexed_rows,
    unindexedRows: record.num_unindexed_rows,
    segments: record.num_segments,
    bytes: record.size_bytes,
    created: new Date(record.created_at),
    ...(record.reason !== undefined && { reason: record.reason }),
  }
}

export async function indexStatsAt(
  operations: Operations,
  at: { readonly id: readonly string[]; readonly version?: number; readonly index_name: string },
  call: CallOptions,
): Promise<IndexStats> {
  const reply = await operations.describeTableIndexStats(at, call)
  return {
    type: reply.index_type,
    distanceType: reply.distance_type,
    status: reply.status,
    indexedRows: reply.num_indexed_rows,
    unindexedRows: reply.num_unindexed_rows,
    segments: reply.num_indices,
    ...(reply.reason !== undefined && { reason: reply.reason }),
    ...(reply.progress !== undefined && { progress: reply.progress }),
  }
}

/** Returns when none of them waits to be built any more. Throws codes 6, 17 and 19. */
export async function indexesBuilt(
  { operations, id, watch }: Indexed,
  names: readonly string[],
  { timeoutMs, ...options }: WaitForIndexOptions,
): Promise<void> {
  checkMs('timeoutMs', timeoutMs)
  // The key names the call that asked for them.
  const { idempotencyKey: _, ...call } = options
  const { signal, end } =
    timeoutMs === undefined
      ? { signal: call.signal, end: () => {} }
      : deadline(systemClock, timeoutMs, notInTime(names, timeoutMs), call.signal)
  const asked = { ...call, signal }
  try {
    for await (const _ of watch === undefined ? pauses(signal) : watch(asked)) {
      const { indexes } = await operations.listTableIndices({ id }, asked)
      if (names.map(name => isBuilt(indexes, name)).every(Boolean)) return
    }
  } finally {
    end()
  }
}

function isBuilt(indexes: readonly IndexRecord[], name: string): boolean {
  const record = indexes.find(({ index_name }) => index_name === name)
  if (record === undefined) {
    throw new SheafError(ErrorCode.IndexNotFound, `there is no index ${quote(name)} to wait for`)
  }
  if (record.status === 'failed') {
    throw new SheafError(
      ErrorCode.InvalidTableState,
      `index ${quote(name)} could not be built: ${record.reason}`,
      { hint: 'create it again, or drop it' },
    )
  }
  return record.status === 'ready' || record.status === 'stale'
}

function notInTime(names: readonly string[], ms: number): SheafError {
  const what = `index ${names.map(quote).join(', ')}`
  return new SheafError(ErrorCode.ServiceUnavailable, `${what} was not built within ${ms} ms`, {
    hint: 'its construction goes on, and queries do without it until then',
  })
}

function checkMs(option: string, ms: number | undefined): void {
  if (ms === undefined || (Number.isFinite(ms) && ms >= 0)) return
  throw invalidInput(`${option} must be a number of milliseconds, got ${quote(ms)}`)
}
