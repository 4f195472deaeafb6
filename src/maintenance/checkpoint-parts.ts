/** Decides which parts of an earlier checkpoint a new checkpoint names, and which of them it replaces. */
import type { CheckpointNote, CheckpointPart } from '../commit/checkpoints.js'
import { nameOf } from '../commit/checkpoints.js'

/** A whole checkpoint of up to this many bytes is written again each time, so that opening reads one file. */
const wholeBytes = 32 * 1024
/** The bytes of a part at level 0 are less than this. Each further level has four times as many. */
const levelBytes = 4 * 1024
const levelRatio = 4

/** Return the parts of a checkpoint that is based on the checkpoint `note`: the parts of `note`, and `note` itself. */
export function partsWith({ key, bytes, parts }: CheckpointNote): readonly CheckpointPart[] {
  return [...parts, { name: nameOf(key), bytes }]
}

/**
 * Return how many of `parts` a new checkpoint names. It has the changes after the last of these. Returns 0 if the new
 * checkpoint should be whole. `bytes`: the bytes of the changes after the last part.
 *
 * - A whole checkpoint is written when the changes together have more bytes than the whole one. So the bytes of all
 *   parts are at most twice those of the state.
 * - If there are three parts of the level of the new one or of lower levels, the new one replaces them, and is of a
 *   higher level. So there are at most three parts per level, and a change is written once per level.
 */
export function countOfParts(parts: readonly CheckpointPart[], bytes: number): number {
  const [whole] = parts
  if (whole === undefined || whole.bytes <= wholeBytes) return 0
  const changes = parts.reduce((sum, part) => sum + part.bytes, bytes - whole.bytes)
  if (changes > whole.bytes) return 0
  let count = parts.length
  for (let own = bytes; ; ) {
    let first = count
    while (first > 1 && levelOf(parts[first - 1]!.bytes) <= levelOf(own)) first--
    if (count - first < levelRatio - 1) return count
    for (; count > first; count--) own += parts[count - 1]!.bytes
  }
}

function levelOf(bytes: number): number {
  return Math.max(0, Math.floor(Math.log(bytes / levelBytes) / Math.log(levelRatio)) + 1)
}
