/** What reading tables needs of the root they live in. Shared by all tables, so that one byte budget covers them. */
import type { Column } from '../arrow/column.js'
import type { FileLayout } from '../arrow/file-reader.js'
import { columnBytes } from '../arrow/layout.js'
import type { SlotReader } from '../commit/slots.js'
import { Analyzers } from '../indexes/text/analysis/analyzers.js'
import type { TextSegment } from '../indexes/text/segment.js'
import type { VectorIndexSegment } from '../indexes/vector/segment.js'
import type { StoredList } from '../indexes/vector/stored-list.js'
import type { VectorSegment } from '../kernels/vector-segment.js'
import type { Bitset } from '../primitives/bitset.js'
import type { Memory, Partition, PassingKeeper } from '../primitives/memory.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import type { BlobStore } from '../storage/blob-store.js'
import { BlockCache } from './block-cache.js'
import { ChecksumPages } from './checksum-pages.js'
import type { LoadedColumn } from './loaded-column.js'
import type { Sharing } from './sharing.js'

export interface TableSource {
  readonly store: BlobStore
  readonly slots: SlotReader
  /**
   * What to throw instead of `error`, which reading a version ended with: whether the version is still there is for others to
   * say. Absent: `error`.
   */
  readonly explain?: (table: string, version: number, error: unknown) => Promise<unknown>
  readonly memory: Memory
  readonly columns: PassingKeeper<LoadedColumn>
  /** Those of data files, by file: all batches share them. */
  readonly dictionaries: Partition<Column>
  /** Blocks of data files: parts of columns of which only some rows are read. */
  readonly blocks: BlockCache
  /** Checksums of those. */
  readonly checksums: ChecksumPages
  /** Vectors that had to be converted for the kernels. */
  readonly vectors: PassingKeeper<VectorSegment>
  readonly footers: Partition<FileLayout>
  /** Row ids of fragments, and offsets of their dead rows. */
  readonly runs: Partition<RunSequence>
  /** Live rows of the batches that have dead ones, and of segments of vector and text indexes, by ordinal. */
  readonly live: Partition<Bitset>
  /** Segments of vector indexes. Those of lists have memory for all of their lists, or for one, */
  readonly segments: Partition<VectorIndexSegment>
  /** and then their lists are kept one by one. */
  readonly lists: Partition<StoredList>
  /** Segments of text indexes, without their postings, */
  readonly textSegments: Partition<TextSegment>
  /** and pages of those. */
  readonly pages: Partition<Uint8Array>
  /** What cuts texts into terms. */
  readonly analyzers: Analyzers
  /** Undefined: what is read here is nobody else's. */
  readonly sharing: Sharing | undefined
}

/** `memory`: where what was read is kept. */
export function createTableSource(
  store: BlobStore,
  slots: SlotReader,
  memory: Memory,
  analyzers: Analyzers = new Analyzers(),
  sharing?: Sharing,
): TableSource {
  return {
    store,
    slots,
    memory,
    columns: memory.partition('columns', 'data', loaded => loaded.bytes),
    dictionaries: memory.partition('dictionaries', 'data', columnBytes),
    blocks: new BlockCache(memory),
    checksums: new ChecksumPages(store, memory),
    vectors: memory.partition('vectors', 'data', segment => segment.byteLength),
    footers: memory.partition('footers', 'places', footerBytes),
    runs: memory.partition(
      'runs',
      'places',
      ({ starts, ranks }) => 200 + starts.byteLength + ranks.byteLength,
    ),
    live: memory.partition('live', 'places', bits => 200 + bits.words.byteLength),
    segments: memory.partition('vector-segments', 'data', segment => segment.bytes),
    lists: memory.partition('vector-lists', 'data', ({ codes, ordinals }) => {
      return codes.byteLength + ordinals.byteLength
    }),
    textSegments: memory.partition('text-segments', 'data', segment => segment.bytes),
    pages: memory.partition('text-pages', 'data', bytes => bytes.length),
    analyzers,
    sharing,
  }
}

/**
 * The same for who passes over much data once, as a compaction does: what others have read is used, what it reads itself is
 * kept no longer than other data that comes, and pushes out nothing that is asked for again and again.
 */
export function passingBy(source: TableSource): TableSource {
  return { ...source, columns: source.columns.passing(), vectors: source.vectors.passing() }
}

/** About what a footer takes: measured, objects for each field, and for each column of each batch. */
function footerBytes({ schema, batches }: FileLayout): number {
  let bytes = 600 + 300 * schema.fields.length
  for (const { columns } of batches) {
    bytes += 150
    for (const { nodes, buffers, zones } of columns) {
      bytes += 350 + 12 * (nodes.length + buffers.length) + 80 * (zones?.length ?? 0)
    }
  }
  return bytes
}
