/** How often a vector index finds what is nearest, as its segments found out when they were built. */
import { corrupted } from '../errors.js'
import type { SectionFile } from '../indexes/section-file.js'
import type { SegmentFacts } from '../indexes/vector/segment.js'
import { filePath } from '../manifest/file-names.js'
import { type TableIndex, vectorSpecOf } from '../manifest/table-index.js'
import type { BlobStore } from '../storage/blob-store.js'
import { openSectionFile } from '../table/section-file.js'

/**
 * Of the ten nearest rows to one of the index, the part that a search without tuning finds: a mean over the segments by their rows. One
 * that looks at every row finds all. Null for an index that has no segments, or is not one of vectors.
 */
export async function recallOf(
  store: BlobStore,
  location: string,
  index: TableIndex | null,
): Promise<number | null> {
  if (index === null || vectorSpecOf(index) === null) return null
  let vectors = 0
  let found = 0
  for (const segment of index.segments) {
    const path = `${location}/${filePath('indexes', segment.file)}`
    const facts = factsOf(await openSectionFile(store, path, segment))
    vectors += facts.vectors
    found += facts.vectors * (facts.recall ?? 1)
  }
  return vectors === 0 ? null : found / vectors
}

type Told = Pick<SegmentFacts, 'vectors' | 'recall'>

function factsOf({ name, footer: { head } }: SectionFile): Told {
  const { facts } = head as { readonly facts?: Told }
  if (facts !== undefined) return facts
  throw corrupted(`${name} does not say what is known of the segment`)
}
