/** Decides the creation and deletion of versions, by kind of table (STORAGE S4, S5). */
import { ErrorCode, invalidInput, quote, SheafError, unsupported } from '../errors.js'
import {
  countNumbers,
  difference,
  hasNumber,
  intersection,
  lastOf,
  type Runs,
  union,
} from '../manifest/runs.js'
import type { ManifestFile, TakenOp, VersionOp } from '../manifest/version.js'
import { idText } from '../protocol/identifiers.js'
import type { ExpireOp, TagOp } from './ops.js'
import { isUnused, type TableHead } from './state.js'

/**
 * Decide to create the next version of a lance table, or any new version of a pointer table. `kind`: what a declared
 * table becomes with its first version. Throws ConcurrentModification when the number exists, was used before, or is
 * not the next one.
 */
export function decideCreateVersion(
  head: TableHead,
  v: number,
  kind: 'lance' | 'pointer',
  manifest: ManifestFile,
): VersionOp {
  const table = `table ${idText(head.id)}`
  if (head.kind === 'sheaf') {
    throw unsupported(`${table} holds rows in Sheaf's format: its versions are created by writing rows`)
  }
  if (head.kind === 'lance' && kind === 'pointer') {
    throw invalidInput(
      `${table} is kept by a Lance engine: manifest_path ${quote(manifest.path)} must name a staging file`,
      { hint: 'a staging file is named <final name>.manifest-<uuid>' },
    )
  }
  const asKind = head.kind === 'declared' ? kind : head.kind
  if (asKind === 'lance') checkIsNext(head, v)
  else checkUnused(head, v)
  return { op: 'version', t: head.uuid, v, kind: asKind, manifest }
}

/** Check that `v` is the next version of a lance table. Throws ConcurrentModification otherwise. */
export function checkIsNext(head: TableHead, v: number): void {
  checkUnused(head, v)
  if (v === head.mark + 1) return
  throw conflict(`version ${v} of table ${idText(head.id)} is not the next one, ${head.mark + 1}`, head)
}

function checkUnused(head: TableHead, v: number): void {
  if (isUnused(head, v)) return
  const what = hasNumber(head.live, v)
    ? 'exists already'
    : 'was deleted or skipped: version numbers only increase, and each is used once'
  throw conflict(`version ${v} of table ${idText(head.id)} ${what}`, head)
}

/** A version and its manifest. */
export interface NewManifest {
  readonly version: number
  readonly manifest: Omit<ManifestFile, 'meta'>
}

/**
 * Decide to adopt versions that a Lance engine wrote without the catalog. `found`: ascending. Versions that were
 * recorded meanwhile are left out; missing numbers between them count as deleted.
 */
export function decideAdoption(head: TableHead, found: readonly NewManifest[]): readonly VersionOp[] {
  if (head.kind !== 'lance' && head.kind !== 'declared') return []
  return found
    .filter(({ version }) => version > head.mark)
    .map(({ version: v, manifest }) => {
      return { op: 'version', t: head.uuid, v, kind: 'lance', manifest: { ...manifest, meta: {} } }
    })
}

/**
 * Decide what to do when a Lance engine took the final name of a version that the log gave to another manifest. Also
 * removes the tags of versions that were based on the other manifest.
 */
export function decideTaken(
  head: TableHead,
  { version: v, manifest }: NewManifest,
): readonly (TagOp | TakenOp)[] {
  const tags = [...head.tags].filter(([, version]) => version > v)
  return [
    ...tags.map(([name]): TagOp => ({ op: 'tag', t: head.uuid, name, v: null })),
    { op: 'taken', t: head.uuid, v, manifest: { ...manifest, meta: {} } },
  ]
}

/** A decided deletion of versions, and how many versions it deletes. */
interface Deletion {
  /** Null if there is nothing to delete. */
  readonly op: ExpireOp | null
  readonly count: number
}

/**
 * Decide to delete the versions in `ranges` (start inclusive, end exclusive, -1: through the latest). The newest
 * version of a table with data is kept: without it a Lance engine could not commit, and a sheaf table would lose its
 * rows. Throws InvalidTableState, naming the tags that point into the ranges.
 */
export function decideDeleteVersions(
  head: TableHead,
  ranges: readonly { readonly start_version: number; readonly end_version: number }[],
): Deletion {
  const asked = ranges.map(({ start_version, end_version }): Runs => {
    const last = end_version === -1 ? Number.MAX_SAFE_INTEGER : end_version - 1
    return start_version <= last ? [[start_version, last]] : []
  })
  const newest = lastOf(head.live)
  const all = intersection(head.live, union(asked))
  const runs = head.kind === 'pointer' || newest === undefined ? all : difference(all, [[newest, newest]])
  const tags = [...head.tags].filter(([, version]) => hasNumber(runs, version)).map(([tag]) => tag)
  if (tags.length > 0) {
    const some = tags.sort().slice(0, 20).join(', ')
    throw new SheafError(
      ErrorCode.InvalidTableState,
      `${tags.length} versions of table ${idText(head.id)} have tags and cannot be deleted: ${some}`,
      { hint: 'delete or move the tags first' },
    )
  }
  const count = countNumbers(runs)
  return { op: count === 0 ? null : { op: 'expire', t: head.uuid, runs }, count }
}

function conflict(message: string, head: TableHead): SheafError {
  const next = head.mark + 1
  const hint = Number.isSafeInteger(next) ? `the next is ${next}` : 'the table has used up all numbers'
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint })
}
