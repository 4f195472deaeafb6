/**
 * Writes existing rows with new values. The rows keep their row ids. If a commit is retried, the next attempt reuses
 * the files of the last attempt, if all their rows must still be written. So it writes only rows that were added in the
 * meantime.
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

/**
 * A function that computes the new values of the rows `hits`, whose ids are `ids`: all columns of the table, in the
 * same row order.
 */
export type NewValues = (source: RowSource, hits: RowHits, pacer: Pacer, ids: Float64Array) => Promise<Batch>

/** Options for rows that are written to another table: the rows of a view's source, which are written to the view. */
export interface RowsElsewhere {
  /** Number that is added to each row id of the source. */
  readonly firstRow: number
  /** Maximum rows of a fragment. Undefined: the default of `stageRows`. */
  readonly rowsMax: number | undefined
}

/** Stages the rewritten rows of a change. One object serves all attempts to commit the change. */
export class RewrittenRows {
  readonly #elsewhere: RowsElsewhere
  #schemaId: number | undefined
  /** By id of the old fragment: offsets of the rows that are in `#drafts`. */
  #written = new Map<number, Uint32Array>()
  /** The staged fragments of the last attempt. */
  #drafts: MovedDraft[] = []
  /** The inline space that is left for row ids of `#drafts`. */
  #room = new InlineRoom()

  /** `elsewhere`: options for rows of another table. Default: the rows stay in their table. */
  constructor(elsewhere: RowsElsewhere = { firstRow: 0, rowsMax: undefined }) {
    this.#elsewhere = elsewhere
  }

  /**
   * Stage the rows `rows` of the reader's version with new values. `schema`: schema of the version that will have the
   * new rows. A row must get the same new values in all calls.
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

/** Yield the new values of the rows. Appends the ids of the rows to `ids`. */
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

/** Yield the new values of the rows of a chunk. Yields several batches if a column of one batch would be too large. */
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
