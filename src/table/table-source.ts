/** Defines the store, caches and analyzers that all tables of a root share. One memory budget limits all caches. */
import type { Column } from '../arrow/column.js'
import type { FileLayout } from '../arrow/file-reader.js'
import { columnBytes } from '../arrow/layout.js'
import type { SlotReader } from '../commit/slots.js'
import type { SectionFile } from '../indexes/sections/section-file.js'
import { Analyzers } from '../indexes/text/analysis/analyzers.js'
import type { PagedText } from '../indexes/text/paged.js'
import type { TextSegment } from '../indexes/text/segment.js'
import type { LanceSegment } from '../indexes/vector/lance-lists.js'
import type { VectorIndexSegment } from '../indexes/vector/segment.js'
import type { StoredList } from '../indexes/vector/stored-list.js'
import type { VectorSegment } from '../kernels/vector-segment.js'
import type { LanceFile } from '../lance/file.js'
import type { Bitset } from '../primitives/bitset.js'
import type { Keeper, Memory, Partition, PassingKeeper } from '../primitives/memory.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import type { BlobStore } from '../storage/blob-store.js'
import { BlockCache } from './block-cache.js'
import { ChecksumPages } from './checksum-pages.js'
import type { LoadedColumn } from './loaded-column.js'
import type { Sharing } from './sharing.js'

/** The opened file of a text segment. */
interface TextFile {
  readonly file: SectionFile
  /** The segment, if its dictionary has pages. */
  readonly paged: PagedText | null
}

/** The store, the slots, the caches and the analyzers that all table readers of a root share. */
export interface TableSource {
  readonly store: BlobStore
  readonly slots: SlotReader
  /**
   * Return the error to throw when reading a version failed with `error`. For example, the version may have expired.
   * Absent: throw `error` itself.
   */
  readonly explain?: (table: string, version: number, error: unknown) => Promise<unknown>
  readonly memory: Memory
  readonly columns: PassingKeeper<LoadedColumn>
  /** Dictionaries of data files. All record batches of a file share its dictionaries. */
  readonly dictionaries: Partition<Column>
  /** Single blocks of columns that are not loaded whole. */
  readonly blocks: BlockCache
  /** Checksums of blocks. */
  readonly checksums: ChecksumPages
  /** Vectors that were converted to a format of the kernels. */
  readonly vectors: PassingKeeper<VectorSegment>
  readonly footers: Partition<FileLayout>
  /** Opened data files of Lance tables. */
  readonly lanceFiles: Partition<LanceFile>
  /** Blocks of data files of Lance tables in object storage. */
  readonly lanceBlocks: Keeper<Uint8Array>
  /** Row ids of fragments, and deletion vectors. */
  readonly runs: Partition<RunSequence>
  /**
   * Sets of live rows, by record batch with deleted rows. Also sets of live ordinals, by segment of a vector or text
   * index.
   */
  readonly live: Partition<Bitset>
  /** Segments of vector indexes. An IVF segment contains all of its lists, or only a buffer for one list. */
  readonly segments: Partition<VectorIndexSegment>
  /** Lists of those IVF segments that contain only a buffer for one list. */
  readonly lists: Partition<StoredList>
  /** Segments of vector indexes of Lance tables. */
  readonly lanceSegments: Partition<LanceSegment>
  /** Segments of text indexes, without their postings. */
  readonly textSegments: Partition<TextSegment>
  /** Opened files of text indexes. */
  readonly textFiles: Partition<TextFile>
  /** Pages of postings and dictionaries of text indexes. */
  readonly pages: Partition<Uint8Array>
  /** The text analyzers. */
  readonly analyzers: Analyzers
  /** Undefined if no other engine shares the data. */
  readonly sharing: Sharing | undefined
}

/** Create the source of a root. `memory`: the cache of the root, whose budget all partitions share. */
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
    lanceFiles: memory.partition('lance-files', 'places', () => lanceFileBytes),
    // The columns that are decoded from the blocks are cached, too, so blocks are evicted first.
    lanceBlocks: memory.partition<Uint8Array>('lance-blocks', 'data', bytes => bytes.length).passing(),
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
    lanceSegments: memory.partition('lance-segments', 'data', ({ segment, missing }) => {
      return segment.bytes + missing.byteLength
    }),
    textSegments: memory.partition('text-segments', 'data', segment => segment.bytes),
    textFiles: memory.partition('text-files', 'data', ({ paged }) => 2000 + (paged?.bytes ?? 0)),
    pages: memory.partition('text-pages', 'data', bytes => bytes.length),
    analyzers,
    sharing,
  }
}

/**
 * Return a source for reading much data once, for example in a compaction. The source uses cached data. Data that it
 * loads takes a bounded part of the cache and never evicts data that is used repeatedly (primitives/memory).
 */
export function passingBy(source: TableSource): TableSource {
  return { ...source, columns: source.columns.passing(), vectors: source.vectors.passing() }
}

/** Estimated memory of an opened file of Lance in bytes. Most of it are the last bytes of the file. */
const lanceFileBytes = 72 * 1024

/**
 * Estimate the memory of a footer in bytes. The constants were measured. They are the bytes of the objects for a field,
 * a batch, a column and its statistics.
 */
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
