/** The recall of a vector index, as its segments measured it when they were built. */
import { corrupted } from '../errors.js'
import type { SectionFile } from '../indexes/sections/section-file.js'
import type { Recalls, SegmentFacts } from '../indexes/vector/segment.js'
import { filePath } from '../manifest/file-names.js'
import { type TableIndex, vectorSpecOf } from '../manifest/table-index.js'
import type { BlobStore } from '../storage/blob-store.js'
import { openSectionFile } from '../table/section-file.js'

/**
 * Return recall@10 of an untuned search, by kind of query: the mean over the segments, weighted by rows. A segment
 * that measures every row has recall 1. Null for an index without segments, for other indexes, and for a kind of
 * query that a segment did not measure.
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

/** A segment without any recall measures every row. A segment with `recall` only is older than the other kinds. */
function recallOf({ recall, recalls }: RecallFacts, kind: 'between' | 'excluded'): number | null | undefined {
  return recalls === undefined && recall === null ? 1 : recalls?.[kind]
}

/** Return the weighted mean; null without vectors, or if a value is missing. */
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

/** For lists of vectors, recall is unknown: the file has the recall of searches for single vectors. */
function factsOf({ name, footer: { head } }: SectionFile): RecallFacts {
  const { facts, lists } = head as { readonly facts?: RecallFacts; readonly lists?: number }
  if (lists !== undefined) return { vectors: lists, recall: null, recalls: unknown }
  if (facts !== undefined) return facts
  throw corrupted(`${name} does not say what is known of the segment`)
}
