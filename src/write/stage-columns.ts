/**
 * Stages columns for existing rows: new columns, or existing columns with new values.
 *
 * The columns of a fragment are written to one file. Its record batches have the same lengths as those of the fragment.
 * Small columns are stored inline in the slot instead, as long as there is space. The values of a row depend only on
 * the row. So the staged columns of a fragment stay valid as long as the fragment has the same files. If the commit is
 * retried, only fragments that were added in the meantime are staged.
 */
import type { Batch } from '../arrow/column.js'
import { concatBatches } from '../arrow/concat.js'
import { IpcFileWriter } from '../arrow/file-writer.js'
import { nullColumn } from '../arrow/fill.js'
import { encodeBatch } from '../arrow/inline-batch.js'
import { batchBytes } from '../arrow/layout.js'
import { sliceBatch } from '../arrow/slice.js'
import { runPaced } from '../arrow/steps.js'
import { takeBatch } from '../arrow/take.js'
import type { Schema } from '../arrow/types.js'
import { type Fragment, onlyLostRows } from '../manifest/layout.js'
import { inParallel } from '../primitives/in-parallel.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSource, rowOffsetField } from '../query/source.js'
import { Steps } from '../query/steps.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { Part, TableReader } from '../table/table-reader.js'
import type { ColumnsDraft } from './build-change.js'
import { conformBatch } from './conform.js'
import { InlineRoom } from './inline-room.js'
import { type Draft, inlineBytes, newFileName, type StageTarget } from './stage.js'
import { ZoneCollector } from './zone-collector.js'

/** Maximum number of fragments that are processed in parallel. */
const fragmentsAtOnce = 4
/**
 * Maximum rows of a step, and maximum bytes of its input. The limit of bytes bounds the time of work outside of
 * expressions.
 */
const stepRows = 8 * 1024
const stepBytes = 1024 * 1024

/** The columns to write. */
export interface ColumnsWork {
  /** The fields of the columns in the new schema of the table. */
  readonly schema: Schema
  /** Names of the columns that `values` reads. */
  readonly names: readonly string[]
  /** The expressions that `values` evaluates. Their cost determines the number of rows of a step. */
  readonly expressions: readonly BoundExpression[]
  /**
   * Computes the columns for live rows. A lossless cast to the types of `schema` follows. `firstRow`: number of live
   * rows of the version before these rows.
   */
  readonly values: (
    rows: Batch,
    options: { readonly firstRow: number; readonly signal: AbortSignal | undefined },
  ) => Batch | Promise<Batch>
  /** Returns whether the columns are written for a fragment. */
  readonly concerns: (fragment: Fragment) => boolean
  /** Called with the number of rows that were processed since the last call. */
  readonly progress?: (rows: number) => void
}

/** The staged columns of a fragment. */
interface Staged {
  readonly fragment: Fragment
  readonly draft: Draft
}

/** Stages the columns of a change. One object serves all attempts to commit the change. */
export class StagedColumns {
  #schemaId: number | undefined
  /** By fragment id: its staged columns. */
  #staged = new Map<number, Staged>()

  /**
   * Stage the columns for the rows of the reader's version. Reuses the staged columns of the last call if the schema is
   * the same.
   */
  async stage(
    reader: TableReader,
    work: ColumnsWork,
    target: StageTarget,
    pacer: Pacer,
  ): Promise<readonly ColumnsDraft[]> {
    const { schema, fragments } = reader.layout
    // If the values depend on the offsets of rows in the table, they depend on other rows, so stage all columns again.
    if (this.#schemaId !== schema.id || work.names.includes(rowOffsetField.name)) this.#staged.clear()
    this.#schemaId = schema.id
    const concerned = fragments.filter(work.concerns)
    const kept = new Map<number, Staged>()
    for (const fragment of concerned) {
      const known = this.#staged.get(fragment.id)
      // A row that was deleted when the columns were staged has no values in them. So they are not valid if a restore
      // made such a row live again.
      if (known?.fragment.files === fragment.files && onlyLostRows(known.fragment, fragment)) {
        kept.set(fragment.id, known)
      }
    }
    this.#staged = kept
    const source = new RowSource(reader, pacer)
    const room = new InlineRoom(bytesInSlot(kept.values()))
    const missing = concerned.filter(({ id }) => !kept.has(id))
    await inParallel(missing, fragmentsAtOnce, async fragment => {
      const draft = await stageFragment(source, fragment, work, room, target, pacer)
      kept.set(fragment.id, { fragment, draft })
    })
    return concerned.map(({ id }) => ({ fragment: id, draft: kept.get(id)!.draft }))
  }
}

function bytesInSlot(staged: Iterable<Staged>): number {
  let bytes = 0
  for (const { draft } of staged) if ('blob' in draft.content) bytes += draft.content.blob.length
  return bytes
}

async function stageFragment(
  source: RowSource,
  fragment: Fragment,
  work: ColumnsWork,
  room: InlineRoom,
  target: StageTarget,
  pacer: Pacer,
): Promise<Draft> {
  const { rows } = fragment
  const parts = await source.reader.partsOf(fragment, pacer.signal)
  let first: readonly Batch[] | null = null
  if (parts.length === 1) {
    first = await columnsOfPart(source, parts[0]!, work, pacer)
    // The encoded message is only a little longer than the batch, so encode only batches that may fit.
    if (first.reduce((sum, piece) => sum + batchBytes(piece), 0) <= inlineBytes) {
      const blob = encodeBatch(concatBatches(first))
      if (room.takes(blob.length)) return { rows, content: { blob }, zones: new Map() }
    }
  }
  const file = newFileName(target)
  const writer = new IpcFileWriter(work.schema)
  const zones = new ZoneCollector(work.schema)
  let end: { bytes: number; footerCrc: number } | undefined
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      const pieces = first ?? (await columnsOfPart(source, part, work, pacer))
      await zones.add(pieces, pacer)
      yield* await runPaced(writer.writeJoined(pieces), pacer)
    }
    const { chunks: last, ...totals } = writer.finish(await zones.stretches(pacer))
    yield* last
    end = totals
  }
  await target.store.putStream(`${target.location}/data/${file}.arrow`, chunks(), pacer.signal)
  return { rows, content: { file, bytes: end!.bytes, crc: end!.footerCrc }, zones: zones.records() }
}

/**
 * Compute the columns for all rows of a part, in several batches. Deleted rows are null. Their old values are not
 * evaluated, because an expression could fail for them.
 */
async function columnsOfPart(
  source: RowSource,
  part: Part,
  { schema, names, expressions, values, progress }: ColumnsWork,
  pacer: Pacer,
): Promise<readonly Batch[]> {
  const { reader } = source
  const live = (await reader.live(part, pacer.signal))?.toIndices() ?? null
  const input = await source.partBatch(part, names)
  const before = reader.liveBeforeFragment(part.fragment) + (await reader.liveBefore(part, pacer.signal))
  const width = batchBytes(input) / Math.max(1, part.rows)
  const steps = new Steps(expressions, Math.min(stepRows, stepBytes / Math.max(1, width)))
  const pieces: Batch[] = []
  let done = 0
  for (let from = 0, to: number; from < part.rows; from = to) {
    await pacer.turn()
    to = Math.min(part.rows, from + steps.rows)
    const own =
      live?.subarray(
        done,
        partitionPoint(live.length, i => live[i]! < to),
      ) ?? null
    const count = own?.length ?? to - from
    const firstRow = before + done
    done += count
    if (count === 0) {
      pieces.push(nullBatch(schema, to - from))
      continue
    }
    const begun = pacer.worked()
    const rows = own === null ? sliceBatch(input, from, count) : takeBatch(input, own)
    const made = values(rows, { firstRow, signal: pacer.signal })
    const batch = conformBatch(made instanceof Promise ? await made : made, schema, firstRow)
    pieces.push(own === null || count === to - from ? batch : takeBatch(batch, indexesOf(own, from, to)))
    if (!(made instanceof Promise)) steps.took(to - from, pacer.worked() - begun)
    progress?.(count)
  }
  return pieces
}

/**
 * Return, for each row from `from` to `to - 1`, its index in `live`, or -1 for a deleted row. `live`: the live rows of
 * the range.
 */
function indexesOf(live: Uint32Array, from: number, to: number): Int32Array {
  const indexes = new Int32Array(to - from).fill(-1)
  for (let i = 0; i < live.length; i++) indexes[live[i]! - from] = i
  return indexes
}

function nullBatch(schema: Schema, length: number): Batch {
  return { schema, length, columns: schema.fields.map(({ type }) => nullColumn(type, length)) }
}
