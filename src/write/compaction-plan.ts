/**
 * Chooses fragments to compact, by their sizes.
 *
 * Adjacent fragments are merged if several have about the same size. So each row is rewritten once per size tier,
 * independent of the number of commits (O'Neil et al., The log-structured merge-tree, 1996). The choice of adjacent
 * fragments follows Lucene's LogMergePolicy. Full fragments are rewritten only if more than `deadShare` of their rows
 * are deleted.
 */
import type { Fragment, Layout } from '../manifest/layout.js'

/** The work of one commit. */
export interface CompactionPlan {
  /** Groups of adjacent fragments. The fragments of a group are merged. */
  readonly groups: readonly (readonly Fragment[])[]
  /** Fragments whose deletion vectors have several parts, which are merged into one part. */
  readonly folds: readonly Fragment[]
  /** Whether there is more work than fits in one commit. */
  readonly hasMore: boolean
}

/**
 * Threshold for compaction. `lazy` compacts only if there is much work, `eager` also if there is less, and `thorough`
 * merges any two adjacent fragments that are not full. The constants below give the values.
 */
export type CompactionMode = 'lazy' | 'eager' | 'thorough'

/** Minimum number of adjacent fragments of one size tier to merge. */
const mergedAtOnce: Readonly<Record<CompactionMode, number>> = { lazy: 8, eager: 4, thorough: 2 }
/** Upper size in bytes of the lowest size tier. Smaller fragments count as this size. */
const smallBytes = 4 * 1024
/** Ratio of the sizes of two adjacent size tiers. */
const sizeFactor = 8
/** Number of live rows from which a fragment is full, even if it has few bytes. */
const fullRows = 512 * 1024
/** Share of deleted rows above which a single fragment is rewritten. */
const deadShare: Readonly<Record<CompactionMode, number>> = { lazy: 0.2, eager: 0.2, thorough: 0.1 }
/** Number of parts of a fragment's deletion vector from which the parts are merged. */
const deadParts: Readonly<Record<CompactionMode, number>> = { lazy: 32, eager: 8, thorough: 2 }
/** Maximum bytes to read for one commit. This work is lost if the table is replaced before the commit. */
const roundBytes = 512 * 1024 * 1024

/** Plan a compaction. `fullBytes`: number of bytes from which a fragment is full. */
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

/** Yield the groups to merge among adjacent fragments that are not full. */
function* groupsInStretch(
  stretch: readonly Fragment[],
  mode: CompactionMode,
  fullBytes: number,
): Generator<readonly Fragment[]> {
  let rest = stretch
  while (rest.length > 0) {
    const sizes = rest.map(fragment => (mode === 'thorough' ? 0 : sizeOf(fragment)))
    // A run ends with the last fragment of the largest size. So it also contains the smaller fragments between larger
    // ones.
    const run = rest.slice(0, sizes.lastIndexOf(Math.max(...sizes)) + 1)
    rest = rest.slice(run.length)
    if (run.length >= mergedAtOnce[mode]) yield* piecesOf(run, mode, fullBytes)
    else for (const fragment of run) if (isWorthIt(fragment, mode)) yield [fragment]
  }
}

/** Split a run into groups whose merged fragments are only a little larger than a full fragment. */
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

/** Return the estimated bytes of the live rows: the bytes of the files, times the share of live rows. */
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

/**
 * Return whether to rewrite a single fragment. This is true if it has many deleted rows. In mode `thorough` it is also
 * true if it has inline rows, because they keep an old slot in use.
 */
function isWorthIt({ rows, dead, files }: Fragment, mode: CompactionMode): boolean {
  if (dead.count > deadShare[mode] * rows) return true
  return mode === 'thorough' && files.some(file => 'slot' in file)
}
