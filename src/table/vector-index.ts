/** A vector index of a table at one version: its segments, and the mapping from their ordinals to rows of fragments. */

import type { VectorKind } from '../indexes/vector/kind.js'
import type { VectorIndexSegment } from '../indexes/vector/segment.js'
import { ownMemory, type SegmentMemory } from '../indexes/vector/segment-memory.js'
import { attachShareable, openShareable } from '../kernels/arena.js'
import type { Metric } from '../kernels/metric.js'
import { lazyImport } from '../lazy-import.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import { fragmentsById } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import { vectorSpecOf } from '../manifest/table-index.js'
import type { Claim } from '../primitives/memory.js'
import type { RowSet } from '../primitives/row-set.js'
import { type OpenSegment, SegmentReader } from './covered-segment.js'
import { IndexCover } from './index-cover.js'
import { openSectionFile } from './section-file.js'
import { type Sharing, sharedFrom } from './sharing.js'
import type { TableSource } from './table-source.js'
import { vectorType } from './vector-column.js'

/** A vector index of one version. */
export interface VectorIndexReader {
  readonly name: string
  readonly kind: VectorKind
  /** The metric by which the index measures distances. */
  readonly metric: Metric
  /** Id of the indexed field. */
  readonly field: number
  /** The segments that cover rows of this version. */
  readonly segments: readonly SegmentReader<VectorIndexSegment>[]
  /** Return the rows of a fragment that the index covers. Reads nothing. */
  covered(fragment: Fragment): RowSet
}

/** Return readers of a version's vector indexes. */
export function vectorIndexReaders(
  source: TableSource,
  location: string,
  layout: Layout,
): readonly VectorIndexReader[] {
  if (layout.indexes.length === 0) return []
  const fragments = fragmentsById(layout)
  return layout.indexes.flatMap(index => {
    const spec = vectorSpecOf(index)
    if (spec === null) return []
    const { name, field } = index
    const { kind, metric } = spec
    const dim = vectorType(typeOf(findFieldById(layout.schema, field)!.at(-1)!))?.size ?? 0
    const cover = new IndexCover(index, layout, fragments)
    const version = { source, location, layout, fragments }
    const open = opening(source, dim)
    const segments = cover.segments.map(covered => new SegmentReader(version, covered, open))
    return [{ name, kind, metric, field, segments, covered: fragment => cover.covered(fragment) }]
  })
}

const opener = lazyImport(() => import('../indexes/vector/open.js'))

/** Return a function that opens segments. It loads graphs whole; the lists of IVF segments are read on demand. */
function opening(source: TableSource, dim: number): OpenSegment<VectorIndexSegment> {
  return (path, { bytes, crc, rows }) =>
    source.segments.get(path, async claim => {
      const { openSegment } = await opener()
      const file = await openSectionFile(source.store, path, { bytes, crc })
      return openSegment(file, rows, dim, memoryOf(source, path, bytes, claim))
    })
}

/**
 * Return the memory for the segment at `path`. It is shared with other engines, except for files below `sharedFrom`
 * bytes.
 */
function memoryOf(
  { memory, sharing, lists }: TableSource,
  path: string,
  fileBytes: number,
  claim: Claim,
): SegmentMemory {
  const { workerCount, workerIndex, open } =
    fileBytes < sharedFrom || !sharing ? ownMemory : sharedMemory(sharing, path)
  /** Cache keys by IVF partition. Keys are kept, because JavaScript hashes a string object only once. */
  const keys: string[] = []
  return {
    workerCount,
    workerIndex,
    open(bytes, fill) {
      claim(bytes)
      return open(bytes, fill)
    },
    keeperFor(bytes) {
      if (memory.canHold(bytes)) return null
      return (partition, load) => {
        keys[partition] ??= `${path}/${partition}`
        return lists.get(keys[partition], load, path)
      }
    },
  }
}

/** Return memory for the segment at `path` that all engines of the process share. */
function sharedMemory(
  sharing: Sharing,
  path: string,
): Pick<SegmentMemory, 'workerCount' | 'workerIndex' | 'open'> {
  return {
    workerCount: sharing.workerCount,
    workerIndex: sharing.workerIndex,
    async open(bytes, fill) {
      const memory = await sharing.once(path, async () => {
        const opened = openShareable(bytes)
        await fill(opened instanceof SharedArrayBuffer ? opened : opened.buffer)
        return opened
      })
      return attachShareable(memory)
    },
  }
}
