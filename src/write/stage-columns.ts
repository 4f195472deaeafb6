/**
 * Stages columns for existing rows: new columns, or all values of existing columns again.
 *
 * Each fragment gets its columns in one file, in batches of the same lengths as its own; a few small ones are stored
 * inline in the slot. The values of a row depend only on the row. So what was staged for a fragment stays valid as long
 * as its files do: after a lost race, only fragments added since are staged.
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
import type { BoundExpression } from '../sql/bound.js'
import type { Part, TableReader } from '../table/table-reader.js'
import type { ColumnsDraft } from './build-change.js'
import { conformBatch } from './conform.js'
import { InlineRoom } from './inline-room.js'
import { type Draft, inlineBytes, newFileName, type StageTarget } from './stage.js'
import { ZoneCollector } from './zone-collector.js'

/** Fragments processed in parallel. */
const fragmentsAtOnce = 4
/** Most rows of a step, and most bytes of its input: the bytes bound the cost of work that is not in an expression. */
const stepRows = 8 * 1024
const stepBytes = 1024 * 1024

/** The columns to write. */
export interface ColumnsWork {
  /** The columns, as the table will have them. */
  readonly schema: Schema
  /** Input columns of the values. */
  readonly names: readonly string[]
  /** The expressions among the values: their cost bounds the length of a step. */
  readonly expressions: readonly BoundExpression[]
  /**
   * Compute the values for some live rows, of types that fit `schema`. `firstRow`: number of live rows of the version
   * before them.
   */
  readonly values: (
    rows: Batch,
    options: { readonly firstRow: number; readonly signal: AbortSignal | undefined },
  ) => Batch | Promise<Batch>
  /** Whether a fragment gets the columns. */
  readonly concerns: (fragment: Fragment) => boolean
  /** Called with the number of rows done since the last call. */
  readonly progress?: (rows: number) => void
}

interface Staged {
  readonly fragment: Fragment
  readonly draft: Draft
}

/** Stages columns over several attempts of one change. */
export class StagedColumns {
  #schemaId: number | undefined
  /** By fragment id. */
  #staged = new Map<number, Staged>()

  /**
   * Stage the columns for the rows of a version. As long as the schema of the version is the same, later calls reuse
   * what was staged.
   */
  async stage(
    reader: TableReader,
    work: ColumnsWork,
    target: StageTarget,
    pacer: Pacer,
  ): Promise<readonly ColumnsDraft[]> {
    const { schema, fragments } = reader.layout
    // The offset of a row in the table depends on other rows.
    if (this.#schemaId !== schema.id || work.names.includes(rowOffsetField.name)) this.#staged.clear()
    this.#schemaId = schema.id
    const concerned = fragments.filter(work.concerns)
    const kept = new Map<number, Staged>()
    for (const fragment of concerned) {
      const known = this.#staged.get(fragment.id)
      // Rows that were deleted when the file was staged have no values in it.
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
    // If a batch has few bytes, its message is hardly longer.
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
 * The columns for all rows of a part, in pieces. Deleted rows are null: their old values must not make an expression
 * fail.
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

/** For each row of a range: its index among the live rows, or -1 for a deleted row. */
function indexesOf(live: Uint32Array, from: number, to: number): Int32Array {
  const indexes = new Int32Array(to - from).fill(-1)
  for (let i = 0; i < live.length; i++) indexes[live[i]! - from] = i
  return indexes
}

function nullBatch(schema: Schema, length: number): Batch {
  return { schema, length, columns: schema.fields.map(({ type }) => nullColumn(type, length)) }
}
