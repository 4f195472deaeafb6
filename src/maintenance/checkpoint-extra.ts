/** The part of a checkpoint next to the state: the pages and packs that replace deletable slots, and the time since which they do. */
import type { CheckpointNote } from '../commit/checkpoints.js'
import { coveredBy, type PackInfo } from '../commit/packs.js'
import type { PageInfo } from '../manifest/history.js'

export interface CheckpointExtra {
  readonly pages: readonly PageInfo[]
  readonly packs?: readonly PackInfo[]
  /** Up to which slot packs stood for slots, and from which time on (milliseconds since 1970). Ascending. */
  readonly packed?: readonly (readonly [to: number, since: number])[]
  /** Names of pages and packs that were replaced, and when (milliseconds since 1970). */
  readonly replaced?: readonly (readonly [name: string, at: number])[]
}

/** Most entries of `packed` and of `replaced` that are kept. */
const packedMax = 256
const replacedMax = 1024

export function extraOf({ extra }: Pick<CheckpointNote, 'extra'>): CheckpointExtra {
  return extra as unknown as CheckpointExtra
}

/** Return the history pages that a checkpoint names. */
export function pagesOf(note: Pick<CheckpointNote, 'extra'>): readonly PageInfo[] {
  return extraOf(note).pages
}

/** Return the packs that a checkpoint names. */
export function packsOf(note: Pick<CheckpointNote, 'extra'>): readonly PackInfo[] {
  return extraOf(note).packs ?? []
}

/**
 * Return the extra of the checkpoint that follows one with `before`. `ts`: its time (milliseconds since 1970). Files that were replaced
 * before `forgotten` are left out.
 */
export function nextExtra(
  before: CheckpointExtra,
  pages: readonly PageInfo[],
  packs: readonly PackInfo[],
  ts: number,
  forgotten: number,
): CheckpointExtra {
  const names = new Set([...pages, ...packs].map(({ name }) => name))
  const gone = [...before.pages, ...(before.packs ?? [])].filter(({ name }) => !names.has(name))
  const known = (before.replaced ?? []).filter(([name, at]) => at >= forgotten && !names.has(name))
  const replaced = [...known, ...gone.map(({ name }) => [name, ts] as const)].slice(-replacedMax)
  const stood = before.packed ?? []
  const to = coveredBy(packs)
  const packed = to > (stood.at(-1)?.[0] ?? 0) ? [...stood, [to, ts] as const].slice(-packedMax) : stood
  return {
    pages,
    ...(packs.length > 0 && { packs, packed }),
    ...(replaced.length > 0 && { replaced }),
  }
}
