/** Determines which versions of sheaf tables may expire, and which expired versions must keep their data. */
import { difference, intersection, lastOf, type Runs, union } from '../manifest/runs.js'
import type { ExpireOp } from './ops.js'
import type { CatalogState, TableHead } from './state.js'

/** By table uuid: the versions that open jobs use. */
type JobVersions = ReadonlyMap<string, Runs>

const all: Runs = [[0, Number.MAX_SAFE_INTEGER]]

/**
 * Return the versions that open jobs use. If the spec of a job has `pinned: [{"table", "version"}]`, the job uses only
 * these versions. Any other job uses all versions of its table.
 */
export function versionsOfJobs({ jobs }: Pick<CatalogState, 'jobs'>): JobVersions {
  const found = new Map<string, Runs[]>()
  const add = (table: string, runs: Runs) => found.set(table, [...(found.get(table) ?? []), runs])
  for (const [, { table, spec }] of jobs) {
    const pinned = (spec as { readonly pinned?: unknown } | null)?.pinned
    if (!Array.isArray(pinned)) {
      if (table !== null) add(table, all)
      continue
    }
    for (const { table, version } of pinned as { table: string; version: number }[]) {
      add(table, [[version, version]])
    }
  }
  return new Map([...found].map(([table, sets]) => [table, union(sets)]))
}

/**
 * Return the versions of a table that may expire when they are old. This excludes the newest version, tagged versions,
 * and versions that jobs use.
 */
export function expendableVersions(head: TableHead, jobs: JobVersions): Runs {
  const newest = lastOf(head.live)
  if (head.kind !== 'sheaf' || newest === undefined || head.live[0]![0] === newest) return []
  const kept: Runs[] = [[[newest, newest]], jobs.get(head.uuid) ?? []]
  for (const [, version] of head.tags) kept.push([[version, version]])
  return difference(head.live, union(kept))
}

/** Return the operations `wanted` without the versions that must not expire on `state`. */
export function decideExpire(state: CatalogState, wanted: readonly ExpireOp[]): readonly ExpireOp[] {
  const jobs = versionsOfJobs(state)
  return wanted.flatMap(({ t, runs }): readonly ExpireOp[] => {
    const head = state.tables.get(t)
    const still = head === undefined ? [] : intersection(runs, expendableVersions(head, jobs))
    return still.length === 0 ? [] : [{ op: 'expire', t, runs: still }]
  })
}

/**
 * Return a function that computes for a table the versions whose data must exist. These are the live versions, and the
 * versions that expired after the GC watermark. Versions that open jobs use are included, because the watermark is
 * never newer than the slot of an open job.
 */
export function versionsWithData(state: CatalogState): (head: TableHead) => Runs {
  const expired = new Map<string, Runs[]>()
  for (const { t, runs } of state.expired) {
    const sets = expired.get(t)
    if (sets === undefined) expired.set(t, [runs])
    else sets.push(runs)
  }
  return head => union([head.live, ...(expired.get(head.uuid) ?? [])])
}
