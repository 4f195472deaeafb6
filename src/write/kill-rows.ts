/** Takes rows out of a table: offsets of those that die, and fragments that lose the last of theirs. */
import { asBytes } from '../arrow/layout.js'
import { NumberRuns } from '../primitives/number-runs.js'
import { InlineRoom } from './inline-room.js'
import { countIn, type RowSet } from './matched-rows.js'
import type { StageTarget } from './stage.js'
import { type RunsDraft, stageRuns } from './stage-runs.js'

export interface KilledRows {
  /** Offsets by fragment id, of fragments that keep some rows. */
  readonly dead: ReadonlyMap<number, RunsDraft>
  /** Ids of fragments that lose all their rows: they leave the table whole. */
  readonly drop: readonly number[]
  readonly count: number
}

export async function killRows(rows: RowSet, target: StageTarget, signal?: AbortSignal): Promise<KilledRows> {
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
