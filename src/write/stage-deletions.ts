/** Stages deletions of rows. Writes deletion vectors, except for fragments whose rows are all deleted. */
import { aligned, asBytes } from '../arrow/layout.js'
import { NumberRuns } from '../primitives/number-runs.js'
import { InlineRoom } from './inline-room.js'
import { countIn, type RowSet } from './matched-rows.js'
import type { StageTarget } from './stage.js'
import { type RunsDraft, stageRuns } from './stage-runs.js'

/** Staged deletions of rows. A change contains them. */
export interface StagedDeletions {
  /** By fragment id: the new part of the deletion vector. Only for fragments that keep live rows. */
  readonly dead: ReadonlyMap<number, RunsDraft>
  /** Ids of fragments without live rows after the deletion. They are removed from the table. */
  readonly drop: readonly number[]
  /** Number of deleted rows. */
  readonly count: number
}

/** Stage the deletion of `rows`, which must be live. */
export async function stageDeletions(
  rows: RowSet,
  target: StageTarget,
  signal?: AbortSignal,
): Promise<StagedDeletions> {
  const dead = new Map<number, RunsDraft>()
  const drop: number[] = []
  const room = new InlineRoom()
  for (const [fragment, offsets] of rows) {
    const isLast = offsets.length + fragment.dead.count === fragment.rows
    if (isLast) drop.push(fragment.id)
    else
      dead.set(fragment.id, await stageRuns(NumberRuns.of(offsets), asBytes(offsets), room, target, signal))
  }
  return { dead, drop, count: countIn(rows) }
}

/** Return the offsets of deleted rows in the blob of a slot. */
export function offsetsIn(blob: Uint8Array): Uint32Array {
  const { buffer, byteOffset } = aligned(blob, 4, blob.length >>> 2)
  return new Uint32Array(buffer, byteOffset, blob.length >>> 2)
}
