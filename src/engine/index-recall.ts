/** How often a vector index finds what is nearest, as its segments found out when they were built. */
import { corrupted } from '../errors.js'
import type { SectionFile } from '../indexes/sections/section-file.js'
import type { Recalls, SegmentFacts } from '../indexes/vector/segment.js'
import { filePath } from '../manifest/file-names.js'
import { type TableIndex, vectorSpecOf } from '../manifest/table-index.js'
import type { BlobStore } from '../storage/blob-store.js'
import { openSectionFile } from '../table/section-file.js'

/**
 * Of the ten nearest rows, the part that a search without tuning finds, by kind of query: means over the segments by their rows. A segment
 * that measures every row finds all. Null for an index that has no segments, or is not one of vectors, and for a kind of query that a segment was not asked.
 */
export async function recallsOf(
  store: BlobStore,
  location: string,
  index: TableIndex | null,
): Promise<Recalls> {
  const all: Told[] = []
  if (index !== null && vectorSpecOf(index) !== null) {
    for (const segment of index.segments) {
      const path = `${location}/${filePath('indexes', segment.file)}`
      all.push(factsOf(await openSectionFile(store, path, segment)))
    }
  }
  return {
    rows: meanOf(all, ({ recall, recalls }) => (recalls === undefined ? (recall ?? 1) : recalls.rows)),
    between: meanOf(all, facts => recallOf(facts, 'between')),
    excluded: meanOf(all, facts => recallOf(facts, 'excluded')),
  }
}

/** A segment without any recall measures every row; one that has only that of rows was built before there were others. */
function recallOf({ recall, recalls }: Told, kind: 'between' | 'excluded'): number | null | undefined {
  return recalls === undefined && recall === null ? 1 : recalls?.[kind]
}

/** Null where there are no vectors, or one of the values is missing. */
function meanOf(all: readonly Told[], recallIn: (facts: Told) => number | null | undefined): number | null {
  let vectors = 0
  let sum = 0
  for (const facts of all) {
    const value = recallIn(facts)
    if (value == null) return null
    vectors += facts.vectors
    sum += facts.vectors * value
  }
  return vectors === 0 ? null : sum / vectors
}

const unknown: Recalls = { rows: null, between: null, excluded: null }

type Told = Pick<SegmentFacts, 'vectors' | 'recall' | 'recalls'>

/** Of lists of vectors it is not known: what the file says is of searches for single vectors. */
function factsOf({ name, footer: { head } }: SectionFile): Told {
  const { facts, lists } = head as { readonly facts?: Told; readonly lists?: number }
  if (lists !== undefined) return { vectors: lists, recall: null, recalls: unknown }
  if (facts !== undefined) return facts
  throw corrupted(`${name} does not say what is known of the segment`)
}
