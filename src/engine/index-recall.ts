/** Reads the recall of a vector index, which each segment measured when it was built. */
import { corrupted } from '../errors.js'
import type { SectionFile } from '../indexes/sections/section-file.js'
import type { Recalls, SegmentFacts } from '../indexes/vector/segment.js'
import { filePath } from '../manifest/file-names.js'
import { type TableIndex, vectorSpecOf } from '../manifest/table-index.js'
import type { BlobStore } from '../storage/blob-store.js'
import { openSectionFile } from '../table/section-file.js'

/**
 * Return the recall@10 of a search with default parameters, by kind of query. The value is the mean over the segments,
 * weighted by their number of vectors. A segment that measures the distance of every row has recall 1.
 *
 * A value is null if the index has no segments or is not a vector index, and for a kind of query that a segment did not
 * measure.
 */
export async function recallsOf(
  store: BlobStore,
  location: string,
  index: TableIndex | null,
): Promise<Recalls> {
  const all: RecallFacts[] = []
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

/**
 * Return the recall of one segment. A segment without any recall measures the distance of every row. A segment with
 * only `recall` was built before the other kinds of queries were measured.
 */
function recallOf({ recall, recalls }: RecallFacts, kind: 'between' | 'excluded'): number | null | undefined {
  return recalls === undefined && recall === null ? 1 : recalls?.[kind]
}

/**
 * Return the mean weighted by the number of vectors. Returns null if there are no vectors, or if a value is missing.
 */
function meanOf(
  all: readonly RecallFacts[],
  recallIn: (facts: RecallFacts) => number | null | undefined,
): number | null {
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

type RecallFacts = Pick<SegmentFacts, 'vectors' | 'recall' | 'recalls'>

/**
 * Return the facts about a segment. For lists of vectors the recall is unknown, because the file has only the recall of
 * searches for single vectors.
 */
function factsOf({ name, footer: { head } }: SectionFile): RecallFacts {
  const { facts, lists } = head as { readonly facts?: RecallFacts; readonly lists?: number }
  if (lists !== undefined) return { vectors: lists, recall: null, recalls: unknown }
  if (facts !== undefined) return facts
  throw corrupted(`${name} has no facts about its segment`)
}
