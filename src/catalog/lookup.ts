/** Finds things by name in one state, or says precisely what is missing. */
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

/** Throws code 1 when there is no such namespace. */
export function findNamespace(state: CatalogState, id: readonly string[]): NamespaceNode {
  const node = state.namespaces.get(pathKey(id))
  if (node !== undefined) return node
  throw new SheafError(ErrorCode.NamespaceNotFound, `no namespace ${idText(id)}`)
}

/**
 * The table of that name; or, for a handle bound to `uuid`, that very table, whatever it is called now. Throws code 4
 * when there is none, with the nearest name beside it as hint.
 */
export function findTable(state: CatalogState, id: readonly string[], uuid?: string): TableHead {
  if (uuid !== undefined) {
    const head = state.tables.get(uuid)
    if (head !== undefined) return head
    throw new SheafError(ErrorCode.TableNotFound, `table ${idText(id)} was dropped or deregistered`, {
      hint: 'a table that has its name since is another one: open it',
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

/** The table of that name, if there is one. */
export function tableNamed(state: CatalogState, id: readonly string[]): TableHead | undefined {
  const uuid = state.namespaces.get(pathKey(id.slice(0, -1)))?.tables.get(id.at(-1) ?? '')
  return uuid === undefined ? undefined : state.tables.get(uuid)
}

/** A version of a table, the newest when `version` is absent. Throws code 11. */
export function versionOf(head: TableHead, version?: number): number {
  const latest = latestOf(head)
  if (version === undefined ? latest !== undefined : hasNumber(head.live, version)) return version ?? latest!
  const what =
    version === undefined
      ? 'has no version'
      : `has no version ${version}${isUnused(head, version) ? '' : ': it was deleted or passed over'}`
  throw new SheafError(ErrorCode.TableVersionNotFound, `table ${idText(head.id)} ${what}`, {
    hint: latest === undefined ? hintWithoutVersions(head) : `latest is ${latest}`,
  })
}

function hintWithoutVersions({ kind }: TableHead): string {
  return kind === 'declared' ? 'it is only declared; insert rows first' : 'all of them were deleted'
}

/** Among more names than this none is suggested: looking at all of them takes longer than a suggestion is worth. */
const suggestedAmong = 1000

function nearestKey(name: string, names: PersistentMap<unknown>): string | undefined {
  return names.size > suggestedAmong ? undefined : nearestName(name, [...names.keys()])
}

/** Refuses tables whose rows are not ours (code 0): they are read and written by whoever keeps them. */
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

/** As `checkRows`, of a table that is to be changed: those of a view are made by its refreshes (code 19). */
export function checkWritable(head: TableHead): void {
  checkRows(head)
  if (head.view === null) return
  throw new SheafError(
    ErrorCode.InvalidTableState,
    `table ${idText(head.id)} is a materialized view: only a refresh changes it`,
    { hint: 'change its source and refresh it; or drop it and create a table of that name' },
  )
}

/** The version a tag names. Throws code 8. */
export function tagOf(head: TableHead, tag: string): number {
  const version = head.tags.get(tag)
  if (version !== undefined) return version
  const near = nearestKey(tag, head.tags)
  throw new SheafError(ErrorCode.TagNotFound, `table ${idText(head.id)} has no tag ${quote(tag)}`, {
    hint: near === undefined ? undefined : `did you mean ${quote(near)}?`,
  })
}

/** Whether a Lance engine may have written versions of a table. */
export function mayHaveManifests({ kind }: Pick<TableHead, 'kind'>): boolean {
  return kind === 'lance' || kind === 'declared'
}
