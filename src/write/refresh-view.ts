/**
 * Refreshes the rows of a materialized view. The source row with the id `n` becomes the view row with the id `firstRow
 * + n`. So a refresh finds the view row of each changed source row by its id.
 */
import type { Batch } from '../arrow/column.js'
import { concatBatches } from '../arrow/concat.js'
import { differingRows } from '../arrow/differing-rows.js'
import { takeBatch } from '../arrow/take.js'
import type { Schema } from '../arrow/types.js'
import type { Fragment } from '../manifest/layout.js'
import { arrowSchema } from '../manifest/table-schema.js'
import { Bitset } from '../primitives/bitset.js'
import { joinNumbers } from '../primitives/join-numbers.js'
import type { Pacer } from '../primitives/pacer.js'
import { streamTask } from '../primitives/task.js'
import { ascendingIds } from '../query/differing-ids.js'
import { candidates, matchingRows } from '../query/filter.js'
import { RowSource, rowIdField, sourceSchema } from '../query/source.js'
import { bindFilter } from '../sql/binding/bind.js'
import { selectRows } from '../sql/evaluate.js'
import { decoded } from '../sql/kernels/dictionary.js'
import type { TableReader } from '../table/table-reader.js'
import type { ChangeParts } from './build-change.js'
import { conformBatch } from './conform.js'
import { countIn, MatchedRows, type Narrow, type RowSet } from './matched-rows.js'
import { type NewValues, RewrittenRows, type RowsElsewhere } from './rewrite-rows.js'
import { streamsById } from './rows-by-id.js'
import type { StageTarget } from './stage.js'
import { stageDeletions } from './stage-deletions.js'
import type { BoundView } from './view-query.js'

/** Number of ids whose rows are compared in one step, in the source and in the view. */
const idsAtOnce = 4 * 1024

/** The input of a refresh. */
export interface RefreshWork {
  /** The version of the source whose rows the view will have. */
  readonly source: TableReader
  /** The version of the view before the refresh. */
  readonly view: TableReader
  readonly query: BoundView
  /** The row ids and the fragment size of the view. */
  readonly place: RowsElsewhere
  readonly target: StageTarget
  readonly progress: (done: number, total: number) => void
}

/** The staged effect of a refresh. */
export type RefreshedRows = Pick<ChangeParts, 'moved' | 'dead' | 'drop'>

/**
 * Return the ids of the rows whose position differs between the two versions of a pair, ascending and without
 * duplicates. Return null if the first versions of all pairs together, or the second ones, have more than `most` such
 * rows.
 */
export async function movedIds(
  pairs: readonly (readonly [TableReader, TableReader])[],
  most: number,
  pacer: Pacer,
): Promise<Float64Array | null> {
  const found: Float64Array[] = []
  const counts = [0, 0]
  for (const [a, b] of pairs) {
    for (const [side, source] of [new RowSource(a, pacer, b), new RowSource(b, pacer, a)].entries()) {
      for await (const candidate of streamTask(candidates(source, { filter: null, names: [] }, pacer))) {
        for await (const offsets of streamTask(matchingRows(source, candidate, pacer))) {
          counts[side]! += offsets.length
          if (counts[side]! > most) return null
          found.push(await source.rowIds(candidate.part, offsets))
        }
      }
    }
  }
  return distinct(await ascendingIds(found, pacer), pacer)
}

/** Remove duplicates from ids in ascending order. Changes `ids`. */
async function distinct(ids: Float64Array, pacer: Pacer): Promise<Float64Array> {
  let count = 0
  for (let from = 0; from < ids.length; from += 64 * 1024) {
    const to = Math.min(ids.length, from + 64 * 1024)
    for (let i = from; i < to; i++) if (count === 0 || ids[i] !== ids[count - 1]) ids[count++] = ids[i]!
    await pacer.turn()
  }
  return ids.subarray(0, count)
}

/** Rebuild all rows of the view. */
export async function rebuiltRows(work: RefreshWork, pacer: Pacer): Promise<RefreshedRows> {
  const { source, view, query } = work
  const rows = await new MatchedRows().find(source, query.filter, pacer)
  const total = countIn(rows)
  let done = 0
  const values: NewValues = (source, hits, pacer, ids) => {
    work.progress(done, total)
    done += hits.offsets.length
    return query.values(source, hits, pacer, ids)
  }
  const moved = await stage({ ...work, query: { ...query, values } }, rows, pacer)
  return { moved, drop: view.layout.fragments.map(fragment => fragment.id) }
}

/**
 * Refresh the rows of the view whose source rows have the ids `ids`. Deletes view rows whose source row was deleted or
 * changed, and adds view rows for changed and new source rows. View rows whose values would not change stay.
 */
export async function updatedRows(
  work: RefreshWork,
  ids: Float64Array,
  pacer: Pacer,
): Promise<RefreshedRows> {
  const { source, view, query, place, target } = work
  const added = new Gathered()
  const removed = new Gathered()
  const passes: Narrow = async (rows, hits) => {
    if (query.filter === null) return hits.offsets
    const passing = selectRows(query.filter, await rows.batch(hits, query.filter.columns, false))
    return passing.toIndices().map(i => hits.offsets[i]!)
  }
  for (let at = 0; at < ids.length; at += idsAtOnce) {
    work.progress(at, ids.length)
    const some = ids.subarray(at, at + idsAtOnce)
    const now = await rowsNamed(source, some, pacer, passes)
    const before = await rowsNamed(
      view,
      some.map(id => place.firstRow + id),
      pacer,
    )
    const same = await unchanged(work, now, before, pacer)
    await added.add(source, now, id => !same.has(id), pacer)
    await removed.add(view, before, id => !same.has(id - place.firstRow), pacer)
  }
  const moved = await stage(work, added.rows(source), pacer)
  const { dead, drop } = await stageDeletions(removed.rows(view), target, pacer.signal)
  return { moved, dead, drop }
}

function stage({ source, view, query, place, target }: RefreshWork, rows: RowSet, pacer: Pacer) {
  const writer = new RewrittenRows(place)
  return writer.stage(source, arrowSchema(view.schema), rows, query.values, target, pacer)
}

function rowsNamed(reader: TableReader, ids: Float64Array, pacer: Pacer, narrow?: Narrow): Promise<RowSet> {
  const named = bindFilter(`${rowIdField.name} IN $1`, sourceSchema(reader.schema), {
    parameters: [ids],
  })
  return new MatchedRows().find(reader, named, pacer, narrow)
}

/**
 * Return the source ids of the rows whose values in the view (rows `before`) equal the new values (of the source rows
 * `now`).
 */
async function unchanged(
  { source, view, query, place }: RefreshWork,
  now: RowSet,
  before: RowSet,
  pacer: Pacer,
): Promise<ReadonlySet<number>> {
  const same = new Set<number>()
  if (now.size === 0 || before.size === 0) return same
  const schema = arrowSchema(view.schema)
  const names = schema.fields.map(({ name }) => name)
  const made = await valuesOf(source, now, schema, query.values, pacer)
  const namedOf: NewValues = async (rows, hits) => rows.batch(hits, names, false)
  const kept = await valuesOf(view, before, schema, namedOf, pacer)
  const positions = new Map([...kept.ids].map((id, row) => [id - place.firstRow, row]))
  const both = [...made.ids.keys()].filter(row => positions.has(made.ids[row]!))
  const a = takeBatch(made.rows, Uint32Array.from(both))
  const b = takeBatch(
    kept.rows,
    Uint32Array.from(both, row => positions.get(made.ids[row]!)!),
  )
  const differing = new Bitset(both.length)
  for (const [i, column] of a.columns.entries()) {
    differing.or(differingRows(decoded(column), decoded(b.columns[i]!)))
    await pacer.turn()
  }
  for (const [i, row] of both.entries()) if (!differing.has(i)) same.add(made.ids[row]!)
  return same
}

async function valuesOf(
  reader: TableReader,
  rows: RowSet,
  schema: Schema,
  values: NewValues,
  pacer: Pacer,
): Promise<{ readonly ids: Float64Array; readonly rows: Batch }> {
  const source = new RowSource(reader, pacer)
  const ids: Float64Array[] = []
  const batches: Batch[] = []
  for (const stream of await streamsById(source, rows, pacer)) {
    for await (const chunk of stream()) {
      ids.push(chunk.ids)
      batches.push(conformBatch(await values(source, chunk.hits, pacer, chunk.ids), schema, 0))
      await pacer.turn()
    }
  }
  return { ids: joinNumbers(Float64Array, ids), rows: concatBatches(batches) }
}

/** Collects rows of one version by fragment. */
class Gathered {
  readonly #pieces = new Map<Fragment, Uint32Array[]>()

  async add(
    reader: TableReader,
    rows: RowSet,
    isWanted: (id: number) => boolean,
    pacer: Pacer,
  ): Promise<void> {
    for (const [fragment, offsets] of rows) {
      const ids = await reader.rowIds(fragment, pacer.signal)
      const wanted = offsets.filter(offset => isWanted(ids.at(offset)))
      if (wanted.length === 0) continue
      const pieces = this.#pieces.get(fragment) ?? []
      pieces.push(wanted)
      this.#pieces.set(fragment, pieces)
    }
  }

  rows({ layout }: TableReader): RowSet {
    const all = new Map<Fragment, Uint32Array>()
    for (const fragment of layout.fragments) {
      const pieces = this.#pieces.get(fragment)
      if (pieces !== undefined) all.set(fragment, joinNumbers(Uint32Array, pieces))
    }
    return all
  }
}
