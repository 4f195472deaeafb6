/** Stages deletions: deletion vectors, and fragments that lose all their rows. */
import { asBytes } from '../arrow/layout.js'
import { NumberRuns } from '../primitives/number-runs.js'
import { InlineRoom } from './inline-room.js'
import { countIn, type RowSet } from './matched-rows.js'
import type { StageTarget } from './stage.js'
import { type RunsDraft, stageRuns } from './stage-runs.js'

/** Staged deletions, for a change. */
export interface StagedDeletions {
  /** Deletion vectors by fragment id, for fragments that keep some rows. */
  readonly dead: ReadonlyMap<number, RunsDraft>
  /** Ids of fragments that lose all their rows: the whole fragment is removed from the table. */
  readonly drop: readonly number[]
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
