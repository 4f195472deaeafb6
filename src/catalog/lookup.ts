/** Finds namespaces, tables, versions and tags by name in a state. Throws an error that names the missing one. */
import { ErrorCode, nearestName, quote, SheafError, shortList, unsupported } from '../errors.js'
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

/** Return the namespace with the path `id`. Throws NamespaceNotFound. */
export function findNamespace(state: CatalogState, id: readonly string[]): NamespaceNode {
  const node = state.namespaces.get(pathKey(id))
  if (node !== undefined) return node
  throw new SheafError(ErrorCode.NamespaceNotFound, `no namespace ${idText(id)}`, {
    hint: 'create it with createNamespace',
  })
}

/**
 * Return a table. With `uuid`, find the table by uuid, even if it was renamed: handles use this. Without `uuid`, find
 * it by the name `id`. Throws TableNotFound, with a similar name as a hint.
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
    hint: near === undefined ? hintOfSeparator(id) : `did you mean ${quote(near)}?`,
  })
}

/** Return a hint if a name looks like a path of names. */
function hintOfSeparator(id: readonly string[]): string | undefined {
  const path = id.length === 1 ? id[0]!.split(/[./]/) : []
  return path.length > 1 && !path.includes('')
    ? `a table in a namespace is an array of names: ${JSON.stringify(path)}`
    : undefined
}

/** Return the table with the name `id`; undefined if it does not exist. */
export function tableNamed(state: CatalogState, id: readonly string[]): TableHead | undefined {
  const uuid = state.namespaces.get(pathKey(id.slice(0, -1)))?.tables.get(id.at(-1) ?? '')
  return uuid === undefined ? undefined : state.tables.get(uuid)
}

/**
 * Check that a version exists, and return its number. `version`: default is the newest version. Throws
 * TableVersionNotFound.
 */
export function versionOf(head: TableHead, version?: number): number {
  const latest = latestOf(head)
  if (version === undefined ? latest !== undefined : hasNumber(head.live, version)) return version ?? latest!
  const what =
    version === undefined
      ? 'has no version'
      : `has no version ${version}${isUnused(head, version) ? '' : ': it was deleted or skipped'}`
  throw new SheafError(ErrorCode.TableVersionNotFound, `table ${idText(head.id)} ${what}`, {
    hint: latest === undefined ? hintWithoutVersions(head) : `the latest version is ${latest}`,
  })
}

function hintWithoutVersions({ kind }: TableHead): string {
  return kind === 'declared' ? 'the table is only declared: insert rows first' : 'all versions were deleted'
}

/** If there are more names than this, no similar name is suggested, because the search would take too long. */
const suggestedAmong = 1000

function nearestKey(name: string, names: PersistentMap<unknown>): string | undefined {
  return names.size > suggestedAmong ? undefined : nearestName(name, [...names.keys()])
}

/**
 * Throw Unsupported if Sheaf cannot read the rows of a table, because a Lance engine reads and writes them or because
 * they are stored elsewhere.
 */
export function checkRows(head: TableHead): void {
  if (head.kind === 'lance') {
    throw unsupported(`the rows of table ${idText(head.id)} are kept by a Lance engine, not by Sheaf`, {
      hint: 'queries can read the rows; write them with a Lance client that uses this catalog as its namespace, or copy them into a table of Sheaf',
    })
  }
  if (head.kind === 'pointer') {
    throw unsupported(
      `table ${idText(head.id)} has no rows in Sheaf: its versions refer to paths outside the root`,
    )
  }
}

/**
 * Check that the rows of a table can be changed. Throws the errors of `checkRows`. Throws InvalidTableState for a view,
 * because only a refresh changes a view.
 */
export function checkWritable(head: TableHead): void {
  checkRows(head)
  if (head.view === null) return
  throw new SheafError(
    ErrorCode.InvalidTableState,
    `table ${idText(head.id)} is a materialized view: only a refresh changes it`,
    {
      hint: 'change its source table and refresh the view, or drop the view and create a table with that name',
    },
  )
}

/** Return the version to which a tag refers. Throws TagNotFound. */
export function tagOf(head: TableHead, tag: string): number {
  const version = head.tags.get(tag)
  if (version !== undefined) return version
  const near = nearestKey(tag, head.tags)
  throw new SheafError(ErrorCode.TagNotFound, `table ${idText(head.id)} has no tag ${quote(tag)}`, {
    hint: near === undefined ? hintOfNames('tags', [...head.tags.keys()]) : `did you mean ${quote(near)}?`,
  })
}

/** Return a hint that lists what the table has, or that says that the table has nothing. `what`: for example `tags`. */
export function hintOfNames(what: string, names: readonly string[]): string {
  return names.length === 0 ? `the table has no ${what}` : `${what}: ${shortList(names)}`
}

/** Return whether a Lance engine may have written versions of a table. */
export function mayHaveManifests({ kind }: Pick<TableHead, 'kind'>): boolean {
  return kind === 'lance' || kind === 'declared'
}
