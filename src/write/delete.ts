/** Finds the rows a delete kills. */
import type { Pacer } from '../primitives/pacer.js'
import { candidates, matchingRows } from '../query/filter.js'
import { RowSource } from '../query/source.js'
import type { BoundExpression } from '../sql/bound.js'
import type { TableReader } from '../table/table-reader.js'

export interface DeadRows {
  /** Ascending row offsets by fragment id, of fragments that keep some rows. */
  readonly dead: ReadonlyMap<number, Uint32Array>
  /** Ids of fragments that lose all their rows: they leave the table whole. */
  readonly drop: readonly number[]
  readonly count: number
}

export async function findDeadRows(
  reader: TableReader,
  predicate: BoundExpression,
  pacer: Pacer,
): Promise<DeadRows> {
  const pieces = new Map<number, Uint32Array[]>()
  let count = 0
  const source = new RowSource(reader, pacer)
  for await (const candidate of candidates(source, { filter: predicate, names: [] }, pacer)) {
    const { fragment, first } = candidate.part
    for await (const rows of matchingRows(source, candidate, pacer)) {
      const offsets = rows.map(row => first + row)
      count += offsets.length
      const known = pieces.get(fragment.id)
      if (known === undefined) pieces.set(fragment.id, [offsets])
      else known.push(offsets)
    }
  }
  const dead = new Map<number, Uint32Array>()
  const drop: number[] = []
  for (const { id, rows, dead: before } of reader.layout.fragments) {
    const offsets = joined(pieces.get(id) ?? [])
    if (offsets.length === 0) continue
    if (offsets.length + before.count === rows) drop.push(id)
    else dead.set(id, offsets)
  }
  return { dead, drop, count }
}

function joined(pieces: readonly Uint32Array[]): Uint32Array {
  if (pieces.length === 1) return pieces[0]!
  const all = new Uint32Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}
