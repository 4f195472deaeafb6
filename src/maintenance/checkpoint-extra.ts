/**
 * The member `extra` of a checkpoint: the history pages and packs that replace old slots of the log, and the times
 * since when they replace these slots.
 */
import type { CheckpointNote } from '../commit/checkpoints.js'
import { coveredBy, type PackInfo } from '../commit/packs.js'
import type { PageInfo } from '../manifest/history.js'

export interface CheckpointExtra {
  readonly pages: readonly PageInfo[]
  readonly packs?: readonly PackInfo[]
  /**
   * Pairs of a slot and a time in milliseconds since 1970, ascending. Since this time, packs replace all slots up to
   * this slot.
   */
  readonly packed?: readonly (readonly [to: number, since: number])[]
  /**
   * Short names (`shortName`) of pages and packs that were replaced by others, with the time of the replacement
   * (milliseconds since 1970).
   */
  readonly replaced?: readonly (readonly [name: string, at: number])[]
  /** Slots of parts of checkpoints that no kept checkpoint needs since the time `at` (milliseconds since 1970). */
  readonly dropped?: readonly (readonly [slot: number, at: number])[]
}

/** Maximum numbers of entries of `packed` and of `replaced`. The newest entries are kept. */
const packedMax = 256
const replacedMax = 512

/** Return the name of a page or pack without the zeros before its slots. */
export function shortName(name: string): string {
  return name.replace(/^0*(\d+)-0*(\d+)-/, '$1-$2-')
}

/** Return `extra` of a checkpoint with its type. */
export function extraOf({ extra }: Pick<CheckpointNote, 'extra'>): CheckpointExtra {
  return extra as unknown as CheckpointExtra
}

/** Return the history pages that a checkpoint lists. */
export function pagesOf(note: Pick<CheckpointNote, 'extra'>): readonly PageInfo[] {
  return extraOf(note).pages
}

/** Return the packs that a checkpoint lists. */
export function packsOf(note: Pick<CheckpointNote, 'extra'>): readonly PackInfo[] {
  return extraOf(note).packs ?? []
}

/**
 * Return `extra` of the next checkpoint. `before`: `extra` of the previous checkpoint. `ts`: the time of the next
 * checkpoint in milliseconds since 1970. Files that were replaced before the time `forgotten` are no longer listed in
 * `replaced`.
 */
export function nextExtra(
  before: CheckpointExtra,
  pages: readonly PageInfo[],
  packs: readonly PackInfo[],
  ts: number,
  forgotten: number,
): CheckpointExtra {
  const names = new Set([...pages, ...packs].map(({ name }) => shortName(name)))
  const gone = [...before.pages, ...(before.packs ?? [])]
    .map(({ name }) => shortName(name))
    .filter(name => !names.has(name))
  const known = (before.replaced ?? []).filter(([name, at]) => at >= forgotten && !names.has(name))
  const replaced = [...known, ...gone.map(name => [name, ts] as const)].slice(-replacedMax)
  const packedBefore = before.packed ?? []
  const to = coveredBy(packs)
  const packed =
    to > (packedBefore.at(-1)?.[0] ?? 0)
      ? [...packedBefore, [to, ts] as const].slice(-packedMax)
      : packedBefore
  return {
    pages,
    ...(packs.length > 0 && { packs, packed }),
    ...(replaced.length > 0 && { replaced }),
  }
}
