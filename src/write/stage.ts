/**
 * Stages rows: a few rows become an inline blob of the slot, more rows become data files. No entry refers to a staged
 * file before the commit. So staged rows are invisible, and after a failure no undo is needed.
 */
import type { Batch } from '../arrow/column.js'
import { concatBatches } from '../arrow/concat.js'
import { IpcFileWriter } from '../arrow/file-writer.js'
import { encodeBatch } from '../arrow/inline-batch.js'
import { sliceBatch } from '../arrow/slice.js'
import { runPaced } from '../arrow/steps.js'
import type { Schema } from '../arrow/types.js'
import { segmentBytes } from '../kernels/vector-segment.js'
import { fileName } from '../manifest/file-names.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import type { ZoneRecord } from '../sql/zones/zone.js'
import type { BlobStore } from '../storage/blob-store.js'
import { Rebatcher } from './rebatcher.js'
import { ZoneCollector } from './zone-collector.js'

/** Maximum bytes of the rows of an entry that are stored inline in the slot (STORAGE S11). */
export const inlineBytes = 64 * 1024
/**
 * Maximum rows of a record batch. `segmentBytes` limits the bytes of each column, and `batchBytesMax` those of all
 * columns.
 */
const batchRows = 128 * 1024
/** Maximum bytes of a record batch. A batch is collected in memory before it is written. */
const batchBytesMax = 128 * 1024 * 1024
/** Maximum rows of a fragment. */
const fragmentRows = 1024 * 1024

/** A staged fragment. It has no ids yet, because the commit assigns the ids of the fragment and its rows. */
export interface Draft {
  readonly rows: number
  readonly content:
    | { readonly blob: Uint8Array }
    | { readonly file: string; readonly bytes: number; readonly crc: number }
  /** By column number: min/max statistics. Empty for inline rows, because readers get these rows with the slot. */
  readonly zones: ReadonlyMap<number, ZoneRecord>
}

/** The destination of staged files. */
export interface StageTarget {
  readonly store: BlobStore
  readonly clock: Clock
  /** Folder of the table. */
  readonly location: string
  /** Creation slot: the newest slot that the writer knew when it began. It is part of the file names (STORAGE S7). */
  readonly birth: number
}

/**
 * Return a unique file name. It contains the creation slot, by which garbage collection recognizes new files (STORAGE
 * S7).
 */
export function newFileName({ birth, clock }: StageTarget): string {
  return fileName(birth, clock.uuid())
}

/** Staged rows: one `Draft` for each fragment, and the total number of rows. */
export interface StagedRows {
  readonly drafts: readonly Draft[]
  readonly rows: number
}

/**
 * Stage the rows of batches, whose schema must be exactly `schema`. Without rows, returns no fragments. `rowsMax`:
 * maximum rows of a fragment; default, and upper limit: 1,048,576.
 */
export async function stageRows(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  schema: Schema,
  target: StageTarget,
  signal?: AbortSignal,
  rowsMax = fragmentRows,
): Promise<StagedRows> {
  const pacer = new Pacer(signal)
  return withRebatcher(batches, pacer, async source => {
    const small = await source.drainUpTo(inlineBytes)
    const most = Math.min(rowsMax, fragmentRows)
    return small === null ? stageFiles(source, schema, target, pacer, most) : stageInline(small, most)
  })
}

/** Stage rows like `stageRows`, but always in files. */
export function stageIntoFiles(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  schema: Schema,
  target: StageTarget,
  pacer: Pacer,
): Promise<StagedRows> {
  return withRebatcher(batches, pacer, source => stageFiles(source, schema, target, pacer, fragmentRows))
}

async function withRebatcher<T>(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  pacer: Pacer,
  work: (source: Rebatcher) => Promise<T>,
): Promise<T> {
  const source = new Rebatcher(batches, pacer, { column: segmentBytes, batch: batchBytesMax })
  try {
    return await work(source)
  } finally {
    await source.close()
  }
}

function stageInline(batches: readonly Batch[], rowsMax: number): StagedRows {
  if (batches.length === 0) return { drafts: [], rows: 0 }
  const all = concatBatches(batches)
  const drafts: Draft[] = []
  for (let from = 0; from < all.length; from += rowsMax) {
    const batch = from === 0 && all.length <= rowsMax ? all : cutBatch(all, from, rowsMax)
    drafts.push({ rows: batch.length, content: { blob: encodeBatch(batch) }, zones: new Map() })
  }
  return { drafts, rows: all.length }
}

async function stageFiles(
  source: Rebatcher,
  schema: Schema,
  target: StageTarget,
  pacer: Pacer,
  rowsMax: number,
): Promise<StagedRows> {
  const drafts: Draft[] = []
  while (!(await source.ended())) drafts.push(await stageFragment(source, schema, target, pacer, rowsMax))
  return { drafts, rows: drafts.reduce((sum, draft) => sum + draft.rows, 0) }
}

const nothing = new Uint8Array(0)

function cutBatch(batch: Batch, from: number, rows: number): Batch {
  return sliceBatch(batch, from, Math.min(rows, batch.length - from))
}

async function stageFragment(
  source: Rebatcher,
  schema: Schema,
  target: StageTarget,
  pacer: Pacer,
  rowsMax: number,
): Promise<Draft> {
  const file = newFileName(target)
  const writer = new IpcFileWriter(schema)
  const zones = new ZoneCollector(schema)
  let rows = 0
  let end: { bytes: number; footerCrc: number } | undefined
  /** Return the chunks of the next record batch. Returns an empty array at the end of the rows or of the fragment. */
  const nextChunks = async (): Promise<Uint8Array[]> => {
    const pending = rows < rowsMax ? await source.take(Math.min(batchRows, rowsMax - rows)) : []
    if (pending.length === 0) return []
    for (const batch of pending) rows += batch.length
    await zones.add(pending, pacer)
    return runPaced(writer.writeJoined(pending), pacer)
  }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const written = await nextChunks()
      if (written.length === 0) break
      while (written.length > 0) yield written.shift()!
      // The consumer keeps a reference to the last chunk until it gets the next chunk. With the empty chunk, the memory
      // of this batch can be freed while the next batch is collected.
      yield nothing
    }
    const { chunks: last, ...totals } = writer.finish(await zones.stretches(pacer))
    yield* last
    end = totals
  }
  await target.store.putStream(`${target.location}/data/${file}.arrow`, chunks(), pacer.signal)
  return { rows, content: { file, bytes: end!.bytes, crc: end!.footerCrc }, zones: zones.records() }
}
