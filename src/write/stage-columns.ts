/**
 * Stages columns of rows that are there already: new ones, or all values of old ones anew.
 *
 * Each fragment gets its columns in one file, in batches as long as those it has; a few small ones ride in the slot. The
 * values of a row are made of nothing but the row, so what was staged for a fragment stays good as long as its
 * files do: a change that lost the race for its slot adds the fragments that came since.
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

/** Fragments worked on at a time. */
const fragmentsAtOnce = 4
/** Rows of one step at most, and bytes of what it reads: what is not in an expression has its cost in the bytes. */
const stepRows = 8 * 1024
const stepBytes = 1024 * 1024

/** What columns are to be written. */
export interface ColumnsWork {
  /** The columns, as the table will have them. */
  readonly schema: Schema
  /** Columns the values are made of. */
  readonly names: readonly string[]
  /** Expressions among them, by which the work is cut into short steps. */
  readonly expressions: readonly BoundExpression[]
  /** The values for some living rows, of types that fit `schema`. `firstRow` living rows of the version come before them. */
  readonly values: (
    rows: Batch,
    options: { readonly firstRow: number; readonly signal: AbortSignal | undefined },
  ) => Batch | Promise<Batch>
  /** Whether a fragment gets the columns at all. */
  readonly concerns: (fragment: Fragment) => boolean
  /** Told how many rows are done. */
  readonly progress?: (rows: number) => void
}

interface Staged {
  readonly fragment: Fragment
  readonly draft: Draft
}

export class StagedColumns {
  #schemaId: number | undefined
  /** By fragment id. */
  #staged = new Map<number, Staged>()

  /**
   * The columns for the rows of a version. From one call to the next the values of a row are the same as long as the schema
   * of the version is.
   */
  async stage(
    reader: TableReader,
    work: ColumnsWork,
    target: StageTarget,
    pacer: Pacer,
  ): Promise<readonly ColumnsDraft[]> {
    const { schema, fragments } = reader.layout
    // Where a row stands among all others is not in the row.
    if (this.#schemaId !== schema.id || work.names.includes(rowOffsetField.name)) this.#staged.clear()
    this.#schemaId = schema.id
    const concerned = fragments.filter(work.concerns)
    const kept = new Map<number, Staged>()
    for (const fragment of concerned) {
      const known = this.#staged.get(fragment.id)
      // Rows that were dead have no values.
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
    // A batch of few bytes has no message longer than it by much.
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

/** The columns for all rows of a part, piece by piece. Dead ones are null: what they hold must not make anything fail. */
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
    pieces.push(own === null || count === to - from ? batch : takeBatch(batch, placesOf(own, from, to)))
    if (!(made instanceof Promise)) steps.took(to - from, pacer.worked() - begun)
    progress?.(count)
  }
  return pieces
}

/** For each row of a stretch which of the living ones it is; -1 for a dead one. */
function placesOf(live: Uint32Array, from: number, to: number): Int32Array {
  const places = new Int32Array(to - from).fill(-1)
  for (let i = 0; i < live.length; i++) places[live[i]! - from] = i
  return places
}

function nullBatch(schema: Schema, length: number): Batch {
  return { schema, length, columns: schema.fields.map(({ type }) => nullColumn(type, length)) }
}
