/** Determines which rows the segments of an index cover at a version. */
import { FragmentsById } from './fragments-by-id.js'
import { columnFile, type Layout } from './layout.js'
import type { CoverItem, IndexSegment, TableIndex } from './table-index.js'
import { columnOfField } from './table-schema.js'

/** A segment of an index, with the part of its row mapping that is valid at a version. */
export interface CoveredSegment {
  readonly segment: IndexSegment
  /** The valid items of the row mapping. */
  readonly items: readonly CoverItem[]
}

/**
 * Return the valid items of each segment's row mapping. An item is valid if its fragment exists in the version, and if
 * the fragment's column is still in the file that was indexed. `fragments`: the fragments of the version by id.
 */
export function coverAt(
  { segments, field }: Pick<TableIndex, 'segments' | 'field'>,
  { schema }: Pick<Layout, 'schema'>,
  fragments: Pick<FragmentsById, 'get'>,
): readonly CoveredSegment[] {
  const column = columnOfField(schema, field)!.id
  return segments.map(segment => ({
    segment,
    items: segment.cover.filter(({ fragment: id, file }) => {
      const fragment = fragments.get(id)
      return fragment !== undefined && columnFile(fragment, column) === file
    }),
  }))
}

/** Return the fragments of a version by id. */
export function fragmentsById({ fragments }: Pick<Layout, 'fragments'>): FragmentsById {
  return FragmentsById.of(fragments)
}
