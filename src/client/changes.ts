/** The change feed: yields the versions of a table when they are committed, with the changes of each version. */
import { ErrorCode, SheafError } from '../errors.js'
import { systemClock } from '../primitives/clock.js'
import { type CallOptions, callFields, type Operations, type Reply } from '../protocol/calls.js'
import { kindsKeepingRows } from '../protocol/change-kind.js'
import { parse } from '../protocol/parse.js'
import { options as declare, given, integer } from '../protocol/shape.js'
import { type Diff, diffOf } from './diff.js'
import type { ConnectionInt64 } from './rows-options.js'
import type { Row } from './table-data.js'

/** Options of `Table.changes`. */
export interface ChangesOptions extends CallOptions {
  /**
   * The last version that the caller knows. The feed begins with the version after `since`. 0: with the first version.
   */
  readonly since: number
  /**
   * Time between polls for new versions, in milliseconds. Default 500. Used only by clients of another process. The
   * process that has the root open does not poll, because it is notified of commits.
   */
  readonly pollMs?: number | undefined
}

export const changesShape = declare<ChangesOptions>()(
  {
    since: integer(0),
    pollMs: given<number>(
      'a number of milliseconds >= 1',
      value => Number.isFinite(value) && Number(value) >= 1,
    ),
    ...callFields,
  },
  { since: true },
)

/** A version, and its difference to the version `previous`. */
export interface TableChange<out R extends object = Row> extends Diff<R> {
  /** The number of the version. */
  readonly version: number
  /**
   * The older version with which `version` is compared. If `previous` is not `version - 1`, the versions between them
   * were deleted.
   */
  readonly previous: number
  /** Time of the commit. */
  readonly timestamp: Date
  /**
   * The operation that created the version, for example `append`, `update`, `merge`, `delete`, `overwrite`, `restore`.
   */
  readonly operation: string
}

/**
 * Function that returns an iterable. The iterable yields once at the beginning, and then when there may be new commits.
 */
export type Watch = (options: CallOptions) => AsyncIterable<unknown>

/** The table of a feed. `watch` is absent if the client must poll. */
interface FollowedTable {
  readonly operations: Operations
  readonly id: readonly string[]
  readonly watch: Watch | undefined
}

interface ChangingTable extends FollowedTable {
  readonly int64: ConnectionInt64
}

type VersionRecord = Reply<'listTableVersions'>['versions'][number]

/** A version that a feed yields, without its difference to `previous`. */
export type FeedVersion = Omit<TableChange, keyof Diff>

/** Reports that a feed has yielded every version up to `position`. The feed can begin again after `position`. */
interface FeedPosition {
  readonly position: number
}

/** Versions on the first page of a listing. It is small, because there is usually at most one new version. */
const listedFirst = 2
/** Maximum versions on a page. Each further page is eight times larger, up to this limit. */
const listedMost = 1000
const defaultPollMs = 500

/** Yield every later version of a table, in order; then wait for new versions until the signal aborts. */
export async function* tableChanges<R extends object>(
  { int64, ...table }: ChangingTable,
  options: ChangesOptions,
): AsyncGenerator<TableChange<R>, void, undefined> {
  const given = parse(changesShape, options, 'changes')
  for await (const step of followVersions(table, given)) {
    if ('position' in step) continue
    yield { ...step, ...diffOf<R>(table.operations, table.id, [step.previous, step.version], int64) }
  }
}

/**
 * Yield what `tableChanges` yields, without differences. Also yields the position, once at the beginning and each time
 * when all known versions are yielded. Versions without changes of rows move the position and are not yielded.
 */
export async function* followVersions(
  { operations, id, watch }: FollowedTable,
  { since, pollMs = defaultPollMs, ...call }: ChangesOptions,
): AsyncGenerator<FeedVersion | FeedPosition, void, undefined> {
  let previous = since
  for await (const _ of watch === undefined ? ticks(pollMs, call.signal) : watch(call)) {
    const later = await versionsAfter(operations, id, previous, call)
    for (const [i, { version, timestamp_millis, metadata }] of later.entries()) {
      const operation = metadata?.operation ?? ''
      if (kindsKeepingRows.has(operation) && previous === version - 1) {
        previous = version
        continue
      }
      // Skip the version if it was deleted while the caller processed earlier versions.
      if (i > 0 && !(await versionExists(operations, id, version, call))) continue
      yield { version, previous, timestamp: new Date(timestamp_millis), operation }
      previous = version
    }
    yield { position: previous }
  }
}

async function* ticks(pollMs: number, signal: AbortSignal | undefined): AsyncGenerator<void> {
  for (; ; await systemClock.sleep(pollMs, signal, true)) yield
}

/**
 * Return the versions after `previous`, in order. Throws TableVersionNotFound if the version `previous` does not exist,
 * unless it is 0. The cost depends only on the number of returned versions.
 */
async function versionsAfter(
  operations: Operations,
  id: readonly string[],
  previous: number,
  options: CallOptions,
): Promise<readonly VersionRecord[]> {
  const later: VersionRecord[] = []
  let page: Pick<Reply<'listTableVersions'>, 'page_token'> = {}
  let limit = listedFirst
  do {
    const request = { id, descending: true, limit, ...page }
    const { versions, ...next } = await operations.listTableVersions(request, options)
    for (const record of versions) {
      if (record.version > previous) later.push(record)
      else if (record.version === previous) return later.reverse()
      else throw versionNotFound(previous, later.at(-1) ?? record)
    }
    page = next
    limit = Math.min(listedMost, 8 * limit)
  } while (page.page_token !== undefined)
  if (previous === 0) return later.reverse()
  throw versionNotFound(previous, later.at(-1))
}

async function versionExists(
  operations: Operations,
  id: readonly string[],
  version: number,
  options: CallOptions,
): Promise<boolean> {
  try {
    await operations.describeTableVersion({ id, version }, options)
    return true
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.TableVersionNotFound) return false
    throw error
  }
}

/**
 * `next`: the version from which the caller can continue, for the hint: the oldest version after `version`, or else the
 * newest version before it. Undefined: no version exists.
 */
function versionNotFound(version: number, next: VersionRecord | undefined): SheafError {
  const message = `version ${version} does not exist, so its changes are not available`
  const hint =
    next === undefined
      ? undefined
      : `read version ${next.version} as a whole, and go on with the changes since ${next.version}`
  return new SheafError(ErrorCode.TableVersionNotFound, message, { hint })
}
