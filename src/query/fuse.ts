/** Merges the results of a vector search and a text search into one list, with the columns of both. */
import type { Pacer } from '../primitives/pacer.js'
import { type Task, wait } from '../primitives/task.js'
import type { Part, TableReader } from '../table/table-reader.js'
import { Parts, type RowHits, ranked, searchColumns } from './hits.js'
import type { Fusion } from './text-plan.js'
import { rowPlace } from './text-rows.js'

/** A row of one of the results, or of both. */
interface FusedRow {
  readonly part: Part
  readonly offset: number
  /** NaN if the vector search did not return the row. */
  distance: number
  /** NaN if the text search did not return the row. */
  score: number
  relevance: number
}

/** Number of rows that are processed between two checks whether to let the event loop run. */
const rowsAtOnce = 1024

/**
 * Return the `limit` most relevant rows of two results, the most relevant row first. Rows of equal relevance are sorted
 * by row id. `near` and `matching`: rows of the vector search and of the text search, the best row first.
 */
export function* fused(
  near: RowHits,
  matching: RowHits,
  fusion: Fusion,
  limit: number,
  reader: TableReader,
  pacer: Pacer,
): Task<RowHits> {
  const [nearShare, scoreShare] = fusion.kind === 'weighted' ? [fusion.weight, 1 - fusion.weight] : [1, 1]
  const rows = new Map<number, FusedRow>()
  const distances = valuesOf(near, searchColumns.distance)
  const byNearness = sharesOf(
    distances.map(distance => -distance),
    fusion,
  )
  for (let i = 0; i < distances.length; i++) {
    const row = rowAt(near, i, rows, reader)
    row.distance = distances[i]!
    row.relevance += nearShare * byNearness[i]!
    if (i % rowsAtOnce === 0 && pacer.due()) yield pacer.pause()
  }
  const scores = valuesOf(matching, searchColumns.score)
  const byScore = sharesOf(scores, fusion)
  for (let i = 0; i < scores.length; i++) {
    const row = rowAt(matching, i, rows, reader)
    row.score = scores[i]!
    row.relevance += scoreShare * byScore[i]!
    if (i % rowsAtOnce === 0 && pacer.due()) yield pacer.pause()
  }
  const parts = new Parts()
  const numbers = new Map<Part, number>()
  const all = [...rows.values()]
  const partOf = new Uint32Array(all.length)
  for (const [i, { part }] of all.entries()) {
    let number = numbers.get(part)
    if (number === undefined) {
      number = parts.add(part, yield* wait(reader.rowIds(part.fragment, pacer.signal)))
      numbers.set(part, number)
    }
    partOf[i] = number
    if (i % rowsAtOnce === 0 && pacer.due()) yield pacer.pause()
  }
  const offsets = Uint32Array.from(all, ({ offset }) => offset)
  const relevances = Float32Array.from(all, ({ relevance }) => -relevance)
  const order = ranked({ partOf, offsets, distances: relevances }, limit, parts)
  const inOrder = Array.from(
    order.offsets,
    (offset, i) => rows.get(positionOf(parts.all[order.partOf[i]!]!, offset, reader))!,
  )
  return {
    parts: parts.all,
    partOf: order.partOf,
    offsets: order.offsets,
    computed: [
      { name: searchColumns.distance, values: Float32Array.from(inOrder, ({ distance }) => distance) },
      { name: searchColumns.score, values: Float32Array.from(inOrder, ({ score }) => score) },
      { name: searchColumns.relevance, values: Float32Array.from(inOrder, ({ relevance }) => relevance) },
    ],
  }
}

function valuesOf({ computed }: RowHits, wanted: string): Float32Array {
  return computed.find(({ name }) => name === wanted)!.values
}

/**
 * Return the merged row for row `i` of a result, and add it to `rows` if it is new. `rows`: merged rows by position.
 */
function rowAt(
  { parts, partOf, offsets }: RowHits,
  i: number,
  rows: Map<number, FusedRow>,
  reader: TableReader,
): FusedRow {
  const part = parts[partOf === null ? 0 : partOf[i]!]!
  const offset = offsets[i]!
  const position = positionOf(part, offset, reader)
  const known = rows.get(position)
  if (known !== undefined) return known
  const row = { part, offset, distance: NaN, score: NaN, relevance: 0 }
  rows.set(position, row)
  return row
}

function positionOf({ fragment, first }: Part, offset: number, reader: TableReader): number {
  return rowPlace(reader.positionOf(fragment.id)!, first + offset)
}

/**
 * Return what each row of a result adds to its relevance. `worths`: the negative distances or the scores of the rows,
 * descending. RRF uses the rank of a row, the other kind of fusion its value, normalized to 0 .. 1.
 */
function sharesOf(worths: Float32Array, fusion: Fusion): Float64Array {
  if (fusion.kind === 'rrf') return Float64Array.from(worths, (_, rank) => 1 / (fusion.k + rank))
  // Distances that overflow float32 are infinite, so they cannot be normalized. Their rows get 0.
  const [best = 0] = worths
  const worst = worths.findLast(Number.isFinite) ?? best
  const share = (worth: number) => (best === worst ? 1 : (worth - worst) / (best - worst))
  return Float64Array.from(worths, worth => (Number.isFinite(worth) ? share(worth) : 0))
}
