/** A table's versions as they come, each with what it changed. */
import { ErrorCode, SheafError } from '../errors.js'
import { systemClock } from '../primitives/clock.js'
import { type CallOptions, callFields, type Operations, type Reply } from '../protocol/calls.js'
import { kindsKeepingRows } from '../protocol/change-kind.js'
import { parse } from '../protocol/parse.js'
import { options as declare, given, integer } from '../protocol/shape.js'
import { type Diff, diffOf } from './diff.js'

export interface ChangesOptions extends CallOptions {
  /** The version the caller knows: the first that comes is the one after it. */
  readonly since: number
  /**
   * Milliseconds between two looks for new versions, default 500: only where the root is open in another process, which is
   * asked; else commits are watched.
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

/** A version and how it differs from the one before. */
export interface TableChange extends Diff {
  readonly version: number
  /** The version it is compared with: the one that came before, or `since`. Those between were deleted. */
  readonly previous: number
  /** When it was committed. */
  readonly timestamp: Date
  /** What made it: `append`, `update`, `merge`, `delete`, `overwrite`, `restore`, ... */
  readonly operation: string
}

/** Yields when there may be commits, at once for the first time. */
export type Watch = (options: CallOptions) => AsyncIterable<unknown>

type VersionRecord = Reply<'listTableVersions'>['versions'][number]

/** Versions listed at once: few at first, since mostly there is one or none, and more as there turn out to be more. */
const listedFirst = 2
const listedMost = 1000
const defaultPollMs = 500

/** Every later version of a table, in order; waits for the next, until the signal. `watch`: absent where one has to poll. */
export async function* tableChanges(
  operations: Operations,
  id: readonly string[],
  watch: Watch | undefined,
  options: ChangesOptions,
): AsyncGenerator<TableChange, void, undefined> {
  const { since, pollMs = defaultPollMs, ...call } = parse(changesShape, options, 'changes')
  let previous = since
  for await (const _ of watch === undefined ? ticks(pollMs, call.signal) : watch(call)) {
    const later = await versionsAfter(operations, id, previous, call)
    for (const [i, { version, timestamp_millis, metadata }] of later.entries()) {
      if (kindsKeepingRows.has(metadata?.operation ?? '') && previous === version - 1) {
        previous = version
        continue
      }
      // While the caller was busy with those before, it may have been deleted.
      if (i > 0 && !(await isThere(operations, id, version, call))) continue
      const diff = diffOf(operations, id, previous, version)
      const timestamp = new Date(timestamp_millis)
      yield { version, previous, timestamp, operation: metadata?.operation ?? '', ...diff }
      previous = version
    }
  }
}

async function* ticks(pollMs: number, signal: AbortSignal | undefined): AsyncGenerator<void> {
  for (; ; await systemClock.sleep(pollMs, signal, true)) yield
}

/** The versions after one that is there, in order. Costs what it gives. */
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
      else throw notThere(previous, later.at(-1) ?? record)
    }
    page = next
    limit = Math.min(listedMost, 8 * limit)
  } while (page.page_token !== undefined)
  throw notThere(previous, later.at(-1))
}

async function isThere(
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

/** `next`: the nearest version to go on from. */
function notThere(version: number, next: VersionRecord | undefined): SheafError {
  const message = `there is no version ${version} that changes could be told from`
  const hint =
    next === undefined
      ? undefined
      : `read version ${next.version} as a whole, and go on with the changes since ${next.version}`
  return new SheafError(ErrorCode.TableVersionNotFound, message, { hint })
}
