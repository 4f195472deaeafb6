/** Builds the schema metadata of tables that are materialized views. */
import { latestOf, type TableHead } from '../catalog/state.js'

/**
 * Return the definition of a view as schema metadata, under the keys that Lance clients read. For the newest version,
 * it also contains the version of the source that the view shows.
 */
export function viewMetadata(head: TableHead, version: number): Readonly<Record<string, string>> {
  if (head.view === null) return {}
  const { definition } = head.view
  const src = version === latestOf(head) ? head.view.src : null
  const { source } = definition
  return {
    'geneva::view::kind': definition.kind,
    'geneva::view::query': definition.source_query,
    ...(source !== null && { 'geneva::view::base_table': source.id.join('$') }),
    ...(src !== null && { 'geneva::view::base_version': String(src.version) }),
  }
}
