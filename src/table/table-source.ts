/** What reading tables needs of the root they live in. Shared by all tables, so that one byte budget covers them. */
import type { FileLayout } from '../arrow/file-reader.js'
import type { SlotReader } from '../commit/slots.js'
import type { Bitset } from '../primitives/bitset.js'
import { ByteCache } from '../primitives/byte-cache.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { LoadedColumn } from './loaded-column.js'

/** What says where rows are is small; this many bytes of each sort of it are kept apart from the columns. */
const footerBudget = 16 * 1024 * 1024

export interface TableSource {
  readonly store: BlobStore
  readonly slots: SlotReader
  /**
   * What to throw instead of `error`, which reading a version ended with: whether the version is still there is for others to
   * say. Absent: `error`.
   */
  readonly explain?: (table: string, version: number, error: unknown) => Promise<unknown>
  readonly columns: ByteCache<LoadedColumn>
  readonly footers: ByteCache<FileLayout>
  /** Row ids of fragments, and offsets of their dead rows. */
  readonly runs: ByteCache<RunSequence>
  /** Live rows of the batches that have dead ones. */
  readonly live: ByteCache<Bitset>
}

/** `cacheBytes`: how many bytes of columns may stay in memory. */
export function createTableSource(store: BlobStore, slots: SlotReader, cacheBytes: number): TableSource {
  return {
    store,
    slots,
    columns: new ByteCache(cacheBytes, loaded => loaded.bytes),
    footers: new ByteCache(footerBudget, layout => 256 + 256 * layout.batches.length),
    runs: new ByteCache(footerBudget, ({ starts }) => 100 + 12 * starts.length),
    live: new ByteCache(footerBudget, bits => bits.words.byteLength),
  }
}
