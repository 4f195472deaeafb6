/** Computes the operations that create and delete versions, depending on the kind of the table (STORAGE S4, S5). */
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
 * Return the operation that creates the next version of a lance table, or any new version of a pointer table. `kind`:
 * the kind that a declared table gets with its first version. Throws ConcurrentModification if the version exists, was
 * used before, or is not the next version of a lance table.
 */
export function decideCreateVersion(
  head: TableHead,
  v: number,
  kind: 'lance' | 'pointer',
  manifest: ManifestFile,
): VersionOp {
  const table = `table ${idText(head.id)}`
  if (head.kind === 'sheaf') {
    throw unsupported(`${table} has rows in Sheaf's format, so only writing rows creates a version`)
  }
  if (head.kind === 'lance' && kind === 'pointer') {
    throw invalidInput(
      `${table} is written by a Lance engine, so manifest_path must be the path of a staging file, got ${quote(manifest.path)}`,
      { hint: 'the name of a staging file is <final name>.manifest-<uuid>' },
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
  throw conflict(
    `version ${v} of table ${idText(head.id)} is not the next version, which is ${head.mark + 1}`,
    head,
  )
}

function checkUnused(head: TableHead, v: number): void {
  if (isUnused(head, v)) return
  const what = hasNumber(head.live, v)
    ? 'exists already'
    : 'was deleted or skipped, and a version number is used only once'
  throw conflict(`version ${v} of table ${idText(head.id)} ${what}`, head)
}

/** A version that is not in the log yet, and its manifest. */
export interface NewManifest {
  readonly version: number
  readonly manifest: Omit<ManifestFile, 'meta'>
}

/**
 * Return the operations that record versions that a Lance engine wrote without the catalog. `found`: the versions in
 * ascending order. Versions that were recorded meanwhile are left out. Numbers that are missing in `found` count as
 * deleted versions.
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
 * Return the operations for a version whose final name a Lance engine used for another manifest than the one in the
 * log. They also remove the tags of higher versions, because these versions were based on the manifest in the log.
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

/** A deletion of versions, and the number of versions that it deletes. */
interface Deletion {
  /** The operation; null if there is no version to delete. */
  readonly op: ExpireOp | null
  readonly count: number
}

/**
 * Return the operation that deletes the versions in `ranges`. `start_version` is inclusive, `end_version` is exclusive,
 * and an `end_version` of -1 means through the latest version. The newest version of a table is kept, because a Lance
 * engine could not commit without it, and a sheaf table would lose its rows. Only a pointer table may lose all
 * versions. Throws InvalidTableState if tags refer to these versions. The message names the tags.
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
  const hint = Number.isSafeInteger(next)
    ? `the next version is ${next}`
    : 'the table has used all version numbers'
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint })
}
