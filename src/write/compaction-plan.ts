/**
 * Chooses fragments to compact, by their sizes.
 *
 * Adjacent fragments are merged if several have about the same size, so that each row is rewritten once per size tier, however
 * many commits created the table (O'Neil et al., The log-structured merge-tree, 1996; the choice of neighbours follows Lucene's
 * LogMergePolicy). Full fragments are rewritten only if a good part of their rows is deleted.
 */
import type { Fragment, Layout } from '../manifest/layout.js'

export interface CompactionPlan {
  /** Work for one commit. */
  /** Groups of adjacent fragments to merge. */
  readonly groups: readonly (readonly Fragment[])[]
  /** Fragments whose deletion vectors are merged into one. */
  readonly folds: readonly Fragment[]
  /** Whether there is more work than fits in one commit. */
  readonly hasMore: boolean
}

/** How soon to work: `lazy` waits until there is much to do, `eager` until it is worthwhile, `thorough` does everything. */
export type CompactionMode = 'lazy' | 'eager' | 'thorough'

/** Minimum number of fragments of one size to merge. */
const mergedAtOnce: Readonly<Record<CompactionMode, number>> = { lazy: 8, eager: 4, thorough: 2 }
/** Smaller fragments count as this many bytes. */
const smallBytes = 4 * 1024
/** Ratio of adjacent size tiers. */
const sizeFactor = 8
/** A fragment with this many rows is full, whatever its bytes. */
const fullRows = 512 * 1024
/** A fragment is rewritten if more than this share of its rows is deleted. */
const deadShare: Readonly<Record<CompactionMode, number>> = { lazy: 0.2, eager: 0.2, thorough: 0.1 }
/** The deletion vectors of a fragment are merged from this number on. */
const deadParts: Readonly<Record<CompactionMode, number>> = { lazy: 32, eager: 8, thorough: 2 }
/** Maximum bytes to read for one commit: this work is lost if the table is replaced meanwhile. */
const roundBytes = 512 * 1024 * 1024

/** Plan a compaction. `fullBytes`: a fragment with this many bytes is full. */
export function planCompaction(
  { fragments }: Layout,
  mode: CompactionMode,
  fullBytes: number,
): CompactionPlan {
  const groups: (readonly Fragment[])[] = []
  const grouped = new Set<Fragment>()
  let bytes = 0
  let hasMore = false
  for (const from of groupsOf(fragments, mode, fullBytes)) {
    bytes += from.reduce((sum, fragment) => sum + bytesOf(fragment), 0)
    hasMore = groups.length > 0 && bytes > roundBytes
    if (hasMore) break
    groups.push(from)
    for (const fragment of from) grouped.add(fragment)
  }
  const folds = fragments.filter(fragment => {
    return !grouped.has(fragment) && fragment.dead.parts.length >= deadParts[mode]
  })
  return { groups, folds, hasMore }
}

function* groupsOf(
  fragments: readonly Fragment[],
  mode: CompactionMode,
  fullBytes: number,
): Generator<readonly Fragment[]> {
  let stretch: Fragment[] = []
  for (const fragment of fragments) {
    if (!isFull(fragment, fullBytes)) {
      stretch.push(fragment)
      continue
    }
    yield* groupsInStretch(stretch, mode, fullBytes)
    stretch = []
    if (isWorthIt(fragment, mode)) yield [fragment]
  }
  yield* groupsInStretch(stretch, mode, fullBytes)
}

/** Groups among adjacent fragments, none of which is full. */
function* groupsInStretch(
  stretch: readonly Fragment[],
  mode: CompactionMode,
  fullBytes: number,
): Generator<readonly Fragment[]> {
  let rest = stretch
  while (rest.length > 0) {
    const sizes = rest.map(fragment => (mode === 'thorough' ? 0 : sizeOf(fragment)))
    // Smaller fragments between larger ones are merged with them.
    const run = rest.slice(0, sizes.lastIndexOf(Math.max(...sizes)) + 1)
    rest = rest.slice(run.length)
    if (run.length >= mergedAtOnce[mode]) yield* piecesOf(run, mode, fullBytes)
    else for (const fragment of run) if (isWorthIt(fragment, mode)) yield [fragment]
  }
}

/** Split a run so that no new fragment exceeds the full size by much. */
function* piecesOf(
  run: readonly Fragment[],
  mode: CompactionMode,
  fullBytes: number,
): Generator<readonly Fragment[]> {
  let piece: Fragment[] = []
  let [bytes, rows] = [0, 0]
  for (const fragment of run) {
    piece.push(fragment)
    bytes += bytesOf(fragment)
    rows += liveRows(fragment)
    if (bytes < fullBytes && rows < fullRows) continue
    yield piece
    piece = []
    bytes = 0
    rows = 0
  }
  if (piece.length > 1 || piece.some(fragment => isWorthIt(fragment, mode))) yield piece
}

function liveRows({ rows, dead }: Fragment): number {
  return rows - dead.count
}

/** Estimated bytes of the live rows. */
function bytesOf(fragment: Fragment): number {
  const bytes = fragment.files.reduce((sum, file) => sum + file.bytes, 0)
  return (bytes * liveRows(fragment)) / Math.max(1, fragment.rows)
}

function sizeOf(fragment: Fragment): number {
  const bytes = Math.max(smallBytes, bytesOf(fragment))
  return Math.floor(Math.log(bytes / smallBytes) / Math.log(sizeFactor))
}

function isFull(fragment: Fragment, fullBytes: number): boolean {
  return liveRows(fragment) >= fullRows || bytesOf(fragment) >= fullBytes
}

/** Whether to rewrite a single fragment: it has many deleted rows, or inline rows, which keep an old slot in use. */
function isWorthIt({ rows, dead, files }: Fragment, mode: CompactionMode): boolean {
  if (dead.count > deadShare[mode] * rows) return true
  return mode === 'thorough' && files.some(file => 'slot' in file)
}
