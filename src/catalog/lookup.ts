/** Finds namespaces, tables, versions and tags by name in a state, or throws what is missing. */
import { ErrorCode, nearestName, quote, SheafError, unsupported } from '../errors.js'
import { hasNumber } from '../manifest/runs.js'
import type { PersistentMap } from '../primitives/persistent-map.js'
import { idText } from '../protocol/identifiers.js'
import {
  type CatalogState,
  isUnused,
  latestOf,
  type NamespaceNode,
  pathKey,
  type TableHead,
} from './state.js'

/** Find a namespace. Throws NamespaceNotFound. */
export function findNamespace(state: CatalogState, id: readonly string[]): NamespaceNode {
  const node = state.namespaces.get(pathKey(id))
  if (node !== undefined) return node
  throw new SheafError(ErrorCode.NamespaceNotFound, `no namespace ${idText(id)}`)
}

/**
 * Find a table by name; or, for a handle bound to `uuid`, by uuid, whatever the table's name is now. Throws
 * TableNotFound, with the nearest name as a hint.
 */
export function findTable(state: CatalogState, id: readonly string[], uuid?: string): TableHead {
  if (uuid !== undefined) {
    const head = state.tables.get(uuid)
    if (head !== undefined) return head
    throw new SheafError(ErrorCode.TableNotFound, `table ${idText(id)} was dropped or deregistered`, {
      hint: 'a table with this name now is another table: open it again',
    })
  }
  const named = tableNamed(state, id)
  if (named !== undefined) return named
  const siblings = state.namespaces.get(pathKey(id.slice(0, -1)))?.tables
  const near = siblings && nearestKey(id.at(-1) ?? '', siblings)
  throw new SheafError(ErrorCode.TableNotFound, `no table ${idText(id)}`, {
    hint: near === undefined ? undefined : `did you mean ${quote(near)}?`,
  })
}

/** Return the table of that name; undefined if there is none. */
export function tableNamed(state: CatalogState, id: readonly string[]): TableHead | undefined {
  const uuid = state.namespaces.get(pathKey(id.slice(0, -1)))?.tables.get(id.at(-1) ?? '')
  return uuid === undefined ? undefined : state.tables.get(uuid)
}

/** Return an existing version: `version`, or the newest if absent. Throws TableVersionNotFound. */
export function versionOf(head: TableHead, version?: number): number {
  const latest = latestOf(head)
  if (version === undefined ? latest !== undefined : hasNumber(head.live, version)) return version ?? latest!
  const what =
    version === undefined
      ? 'has no version'
      : `has no version ${version}${isUnused(head, version) ? '' : ': it was deleted or skipped'}`
  throw new SheafError(ErrorCode.TableVersionNotFound, `table ${idText(head.id)} ${what}`, {
    hint: latest === undefined ? hintWithoutVersions(head) : `latest is ${latest}`,
  })
}

function hintWithoutVersions({ kind }: TableHead): string {
  return kind === 'declared' ? 'it is only declared; insert rows first' : 'all of them were deleted'
}

/** Among more names than this no suggestion is searched for: the search takes too long. */
const suggestedAmong = 1000

function nearestKey(name: string, names: PersistentMap<unknown>): string | undefined {
  return names.size > suggestedAmong ? undefined : nearestName(name, [...names.keys()])
}

/** Throw Unsupported for a table whose rows are not in Sheaf's format: a Lance engine reads and writes them. */
export function checkRows(head: TableHead): void {
  if (head.kind === 'lance') {
    throw unsupported(`the rows of table ${idText(head.id)} are kept by a Lance engine, not by Sheaf`, {
      hint: 'open it with a Lance client that uses this catalog as its namespace',
    })
  }
  if (head.kind === 'pointer') {
    throw unsupported(`table ${idText(head.id)} has versions that point elsewhere, and no rows of its own`)
  }
}

/**
 * Like `checkRows`, for a table that is to be changed. Throws InvalidTableState for a view: only its refreshes change
 * it.
 */
export function checkWritable(head: TableHead): void {
  checkRows(head)
  if (head.view === null) return
  throw new SheafError(
    ErrorCode.InvalidTableState,
    `table ${idText(head.id)} is a materialized view: only a refresh changes it`,
    { hint: 'change its source and refresh it; or drop it and create a table with that name' },
  )
}

/** Return the version of a tag. Throws TagNotFound. */
export function tagOf(head: TableHead, tag: string): number {
  const version = head.tags.get(tag)
  if (version !== undefined) return version
  const near = nearestKey(tag, head.tags)
  throw new SheafError(ErrorCode.TagNotFound, `table ${idText(head.id)} has no tag ${quote(tag)}`, {
    hint: near === undefined ? undefined : `did you mean ${quote(near)}?`,
  })
}

/** Return whether a Lance engine may have written versions of a table. */
export function mayHaveManifests({ kind }: Pick<TableHead, 'kind'>): boolean {
  return kind === 'lance' || kind === 'declared'
}
