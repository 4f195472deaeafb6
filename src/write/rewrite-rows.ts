/**
 * Writes rows again with new values, under their ids. Drafts of one attempt are reused by the next as long as their
 * rows are still to be written. So after a lost race only the rows added since are written.
 */
import type { Batch } from '../arrow/column.js'
import { ColumnTooLarge } from '../arrow/column-too-large.js'
import type { Schema } from '../arrow/types.js'
import type { Fragment } from '../manifest/layout.js'
import { joinNumbers } from '../primitives/join-numbers.js'
import type { Pacer } from '../primitives/pacer.js'
import { type RowHits, sliceHits } from '../query/hits.js'
import { RowSource } from '../query/source.js'
import type { TableReader } from '../table/table-reader.js'
import type { MovedDraft } from './build-change.js'
import { conformBatch } from './conform.js'
import { InlineRoom } from './inline-room.js'
import type { RowSet } from './matched-rows.js'
import { type Chunk, streamsById } from './rows-by-id.js'
import { type StageTarget, stageRows } from './stage.js'
import { stageIds } from './stage-runs.js'

/** Return the new values of some rows, with the ids `ids`: all columns of the table, in the same order. */
export type NewValues = (source: RowSource, hits: RowHits, pacer: Pacer, ids: Float64Array) => Promise<Batch>

/** How to write rows of another table (a view's source). */
export interface RowsElsewhere {
  /** Added to every row id. */
  readonly firstRow: number
  /** Maximum rows of a fragment. */
  readonly rowsMax: number | undefined
}

/** Stages rewritten rows over several attempts of one change. */
export class RewrittenRows {
  readonly #elsewhere: RowsElsewhere
  #schemaId: number | undefined
  /** By fragment id: offsets of the rows in the drafts. */
  #written = new Map<number, Uint32Array>()
  #drafts: MovedDraft[] = []
  /** Inline space for the row ids of the drafts. */
  #room = new InlineRoom()

  /** `elsewhere`: absent if the rows stay in their table. */
  constructor(elsewhere: RowsElsewhere = { firstRow: 0, rowsMax: undefined }) {
    this.#elsewhere = elsewhere
  }

  /**
   * Stage rows with their new values, in the schema of the version that will have them. Between calls, the same row of
   * a fragment must have the same new values.
   */
  async stage(
    reader: TableReader,
    schema: Schema,
    rows: RowSet,
    newValues: NewValues,
    target: StageTarget,
    pacer: Pacer,
  ): Promise<readonly MovedDraft[]> {
    const source = new RowSource(reader, pacer)
    const wanted = new Map([...rows].map(([{ id }, offsets]) => [id, offsets]))
    const isSame = this.#schemaId === reader.schema.id
    if (!isSame || [...this.#written].some(([id, offsets]) => wanted.get(id) !== offsets)) {
      this.#written.clear()
      this.#drafts = []
      this.#room = new InlineRoom()
    }
    this.#schemaId = reader.schema.id
    const missing = new Map<Fragment, Uint32Array>()
    for (const [fragment, offsets] of rows)
      if (!this.#written.has(fragment.id)) missing.set(fragment, offsets)
    const drafts: MovedDraft[] = []
    const { firstRow, rowsMax } = this.#elsewhere
    for (const stream of await streamsById(source, missing, pacer)) {
      const ids: Float64Array[] = []
      const batches = newBatches(stream(), source, schema, newValues, ids, pacer)
      const staged = await stageRows(batches, schema, target, pacer.signal, rowsMax)
      let from = 0
      const joined = joinNumbers(Float64Array, ids)
      const all = firstRow === 0 ? joined : joined.map(id => firstRow + id)
      for (const draft of staged.drafts) {
        const own = all.subarray(from, from + draft.rows)
        drafts.push({ draft, ids: await stageIds(own, this.#room, target, pacer.signal) })
        from += draft.rows
      }
    }
    this.#written = wanted
    this.#drafts = [...this.#drafts, ...drafts]
    return this.#drafts
  }
}

/** Appends the ids of the rows to `ids`. */
async function* newBatches(
  chunks: AsyncIterable<Chunk>,
  source: RowSource,
  schema: Schema,
  newValues: NewValues,
  ids: Float64Array[],
  pacer: Pacer,
): AsyncGenerator<Batch> {
  for await (const chunk of chunks) {
    ids.push(chunk.ids)
    let from = 0
    for await (const batch of valuesOf(chunk, source, newValues, pacer)) {
      yield conformBatch(batch, schema, chunk.ids.subarray(from))
      from += batch.length
      await pacer.turn()
    }
  }
}

/** The new values of some rows; in several batches if one would be too large. */
async function* valuesOf(
  { hits, ids }: Chunk,
  source: RowSource,
  newValues: NewValues,
  pacer: Pacer,
): AsyncGenerator<Batch> {
  const count = hits.offsets.length
  let batch: Batch
  try {
    batch = await newValues(source, hits, pacer, ids)
  } catch (error) {
    if (!(error instanceof ColumnTooLarge) || count === 1) throw error
    const middle = Math.ceil(count / 2)
    const halves = [
      { hits: sliceHits(hits, 0, middle), ids: ids.subarray(0, middle) },
      { hits: sliceHits(hits, middle, count), ids: ids.subarray(middle) },
    ]
    for (const half of halves) yield* valuesOf(half, source, newValues, pacer)
    return
  }
  yield batch
}
