/**
 * Stages rows: few rows become a blob inline in the slot, more become data files. Nothing refers to a staged file
 * before the commit, so staged rows are invisible, and a failure needs no undo.
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

/** Rows of an entry up to this many bytes are stored inline in the slot (STORAGE S11). */
export const inlineBytes = 64 * 1024
/** Rows of a record batch, unless one column would exceed a vector segment, or all columns together `batchBytesMax`. */
const batchRows = 128 * 1024
/** Bytes of a batch, which is gathered in memory before it is written. */
const batchBytesMax = 128 * 1024 * 1024
/** Most rows of a fragment. */
const fragmentRows = 1024 * 1024

/** A staged fragment, without the numbers that only the commit can give. */
export interface Draft {
  readonly rows: number
  readonly content:
    | { readonly blob: Uint8Array }
    | { readonly file: string; readonly bytes: number; readonly crc: number }
  /** Min/max statistics by column. Empty for inline rows, which are read with the slot anyway. */
  readonly zones: ReadonlyMap<number, ZoneRecord>
}

/** Where to stage files. */
export interface StageTarget {
  readonly store: BlobStore
  readonly clock: Clock
  /** The table's folder. */
  readonly location: string
  /** The newest slot that the writer knew when it began; part of file names (STORAGE S7). */
  readonly birth: number
}

/**
 * Return a unique file name. It contains the newest slot that the writer knew, so garbage collection can tell new files
 * (STORAGE S7).
 */
export function newFileName({ birth, clock }: StageTarget): string {
  return fileName(birth, clock.uuid())
}

/** Staged rows, in one draft per fragment. */
export interface StagedRows {
  readonly drafts: readonly Draft[]
  readonly rows: number
}

/**
 * Stage batches that already have exactly `schema`. An empty source gives no draft. `rowsMax`: most rows of a fragment,
 * default and maximum 1,048,576.
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

/** As `stageRows`, but never inline in the slot. */
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
  /** The chunks of the next record batch; empty at the end. */
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
      // A consumer holds a chunk until it gets the next one. The empty chunk frees the batch while the next one is
      // gathered.
      yield nothing
    }
    const { chunks: last, ...totals } = writer.finish(await zones.stretches(pacer))
    yield* last
    end = totals
  }
  await target.store.putStream(`${target.location}/data/${file}.arrow`, chunks(), pacer.signal)
  return { rows, content: { file, bytes: end!.bytes, crc: end!.footerCrc }, zones: zones.records() }
}
