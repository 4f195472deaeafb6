/** Finds things by name in one state, or says precisely what is missing. */
import { ErrorCode, nearestName, quote, SheafError } from '../errors.js'
import { findVersion, type VersionRecord } from '../manifest/version.js'
import { type CatalogState, type NamespaceNode, pathKey, type TableHead } from './state.js'

/** How an identifier reads in a message: its parts joined by the default delimiter, the root as `$`. */
export function idText(id: readonly string[]): string {
  return quote(id.length === 0 ? '$' : id.join('$'))
}

/** Throws code 1 when there is no such namespace. */
export function findNamespace(state: CatalogState, id: readonly string[]): NamespaceNode {
  const node = state.namespaces.get(pathKey(id))
  if (node !== undefined) return node
  throw new SheafError(ErrorCode.NamespaceNotFound, `no namespace ${idText(id)}`)
}

/** Throws code 4 when there is no such table, with the nearest name beside it as hint. */
export function findTable(state: CatalogState, id: readonly string[]): TableHead {
  const siblings = state.namespaces.get(pathKey(id.slice(0, -1)))?.tables
  const uuid = siblings?.get(id.at(-1) ?? '')
  if (uuid !== undefined) return tableByUuid(state, uuid, id)
  const near = siblings === undefined ? undefined : nearestName(id.at(-1) ?? '', [...siblings.keys()])
  throw new SheafError(ErrorCode.TableNotFound, `no table ${idText(id)}`, {
    hint: near === undefined ? undefined : `did you mean ${quote(near)}?`,
  })
}

/** The table a handle is bound to. Throws code 4 once it was dropped, even if its name is taken again. */
export function tableByUuid(state: CatalogState, uuid: string, id: readonly string[]): TableHead {
  const head = state.tables.get(uuid)
  if (head !== undefined) return head
  throw new SheafError(ErrorCode.TableNotFound, `table ${idText(id)} was dropped`)
}

/** A version of a table, the newest when `version` is absent. Throws code 11. */
export function versionOf(head: TableHead, version?: number): VersionRecord {
  const record = version === undefined ? head.latest : findVersion(head.latest, version)
  if (record != null) return record
  const what = version === undefined ? 'has no version yet' : `has no version ${version}`
  throw new SheafError(ErrorCode.TableVersionNotFound, `table ${idText(head.id)} ${what}`, {
    hint:
      head.latest === null ? 'it is only declared; insert rows first' : `latest is ${head.latest.version}`,
  })
}

/** The version a tag names. Throws code 8. */
export function tagOf(head: TableHead, tag: string): number {
  const version = head.tags.get(tag)
  if (version !== undefined) return version
  const near = nearestName(tag, [...head.tags.keys()])
  throw new SheafError(ErrorCode.TagNotFound, `table ${idText(head.id)} has no tag ${quote(tag)}`, {
    hint: near === undefined ? undefined : `did you mean ${quote(near)}?`,
  })
}
