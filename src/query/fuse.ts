/** Merges the results of a vector search and a text search into one list, with the columns of both. */
import type { Pacer } from '../primitives/pacer.js'
import { type Task, wait } from '../primitives/task.js'
import type { Part, TableReader } from '../table/table-reader.js'
import { Parts, type RowHits, ranked, searchColumns } from './hits.js'
import type { Fusion } from './text-plan.js'
import { rowPlace } from './text-rows.js'

/** A row of either result; NaN for the search that did not return it. */
interface FusedRow {
  readonly part: Part
  readonly offset: number
  distance: number
  score: number
  relevance: number
}

/** Rows processed between two checks of the clock. */
const rowsAtOnce = 1024

/** Return the `limit` most relevant rows of two lists, each sorted best first. Ties are sorted by row id. */
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

/** Return row `i` of a result. `rows`: the rows found so far, by position. */
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

/** The share of relevance of each row of a list, sorted best first: by rank, or by its normalized value. */
function sharesOf(worths: Float32Array, fusion: Fusion): Float64Array {
  if (fusion.kind === 'rrf') return Float64Array.from(worths, (_, rank) => 1 / (fusion.k + rank))
  // Distances that overflow float32 are infinite.
  const [best = 0] = worths
  const worst = worths.findLast(Number.isFinite) ?? best
  const share = (worth: number) => (best === worst ? 1 : (worth - worst) / (best - worst))
  return Float64Array.from(worths, worth => (Number.isFinite(worth) ? share(worth) : 0))
}
