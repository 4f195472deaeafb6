/** What tables tell of the views they are. */
import { latestOf, type TableHead } from '../catalog/state.js'

/** The definition of a view as users of Lance look for it: in the metadata of its schema. What it shows is told of its newest version. */
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
