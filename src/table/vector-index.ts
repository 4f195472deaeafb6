/** A vector index of a table at one version: its segments, and which rows of fragments their ordinals are. */

import type { VectorKind } from '../indexes/vector/kind.js'
import type { VectorIndexSegment } from '../indexes/vector/segment.js'
import type { SegmentMemory } from '../indexes/vector/segment-memory.js'
import { attachShareable, openShareable } from '../kernels/arena.js'
import type { Metric } from '../kernels/metric.js'
import { later } from '../later.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import { fragmentsById } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import { vectorSpecOf } from '../manifest/table-index.js'
import type { RowSet } from '../primitives/row-set.js'
import { type OpenSegment, SegmentReader } from './covered-segment.js'
import { IndexCover } from './index-cover.js'
import { openSectionFile } from './section-file.js'
import { type Sharing, sharedFrom } from './sharing.js'
import type { TableSource } from './table-source.js'
import { vectorType } from './vector-column.js'

export interface VectorIndexReader {
  readonly name: string
  readonly kind: VectorKind
  /** By which it tells near from far. */
  readonly metric: Metric
  /** Id of the column it is of. */
  readonly field: number
  /** Those that number rows of this version. */
  readonly segments: readonly SegmentReader<VectorIndexSegment>[]
  /** The rows of a fragment of this version that it covers. Reads nothing. */
  covered(fragment: Fragment): RowSet
}

/** Readers of those of a version's indexes that are of vectors. */
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
    const open = opening(source, dim, kind)
    const segments = cover.segments.map(covered => new SegmentReader(version, covered, open))
    return [{ name, kind, metric, field, segments, covered: fragment => cover.covered(fragment) }]
  })
}

const opener = later(() => import('../indexes/vector/open.js'))

/** Each as a whole. */
function opening(
  { store, segments, sharing }: TableSource,
  dim: number,
  kind: VectorKind,
): OpenSegment<VectorIndexSegment> {
  // Lists have a map from rows to partitions beside them that is not in the file.
  const rowBytes = kind.startsWith('IVF_HNSW') ? 0 : 4
  return (path, { bytes, crc, rows, vectors = rows }) =>
    segments.get(path, async claim => {
      claim(bytes + vectors * rowBytes)
      const { openSegment } = await opener()
      const file = await openSectionFile(store, path, { bytes, crc })
      return openSegment(file, rows, dim, sharing && memoryOf(sharing, path, bytes))
    })
}

/** Where engines that share see the segment at `path`. Undefined: it is not worth the question. */
function memoryOf(sharing: Sharing, path: string, fileBytes: number): SegmentMemory | undefined {
  if (fileBytes < sharedFrom) return undefined
  const { seats, seat } = sharing
  return {
    seats,
    seat,
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
