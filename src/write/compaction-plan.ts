/**
 * Which fragments of a table are worth being made one, by their sizes alone.
 *
 * Fragments that follow each other are merged when there are several of about one size, so that a row is written anew once for
 * each of a few sizes, however many commits brought the table about (O'Neil et al., The log-structured merge-tree, 1996;
 * the choice of neighbours follows Lucene's LogMergePolicy). Fragments as large as they should be are left alone, until a
 * good part of their rows is dead.
 */
import type { Fragment, Layout } from '../manifest/layout.js'

export interface CompactionPlan {
  /** Fragments that follow each other, and give way to as many as their living rows fill. */
  readonly groups: readonly (readonly Fragment[])[]
  /** Fragments whose many dead parts become one. */
  readonly folds: readonly Fragment[]
  /** There is more than is good for one commit. */
  readonly hasMore: boolean
}

/** Whether work waits until there is much of it, is done once it is worth its while, or all there is. */
export type CompactionMode = 'lazy' | 'eager' | 'thorough'

/** Fragments of one size that are merged. */
const mergedAtOnce: Readonly<Record<CompactionMode, number>> = { lazy: 8, eager: 4, thorough: 2 }
/** Fragments of fewer bytes count as having so many. */
const smallBytes = 4 * 1024
/** One size is so many times the next smaller one. */
const sizeFactor = 8
/** A fragment of so many rows is large enough, whatever their bytes. */
const fullRows = 512 * 1024
/** A fragment is written anew when more than this share of its rows is dead: */
const deadShare: Readonly<Record<CompactionMode, number>> = { lazy: 0.2, eager: 0.2, thorough: 0.1 }
/** Its dead parts become one when they are so many. */
const deadParts: Readonly<Record<CompactionMode, number>> = { lazy: 32, eager: 8, thorough: 2 }
/** Bytes read for one commit: work that is lost when the table is replaced meanwhile. */
const roundBytes = 512 * 1024 * 1024

/** `fullBytes`: from which a fragment is large enough. */
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

/** Of fragments that follow each other, none of them full. */
function* groupsInStretch(
  stretch: readonly Fragment[],
  mode: CompactionMode,
  fullBytes: number,
): Generator<readonly Fragment[]> {
  let rest = stretch
  while (rest.length > 0) {
    const sizes = rest.map(fragment => (mode === 'thorough' ? 0 : sizeOf(fragment)))
    // Smaller ones in between go with the larger ones around them.
    const run = rest.slice(0, sizes.lastIndexOf(Math.max(...sizes)) + 1)
    rest = rest.slice(run.length)
    if (run.length >= mergedAtOnce[mode]) yield* piecesOf(run, mode, fullBytes)
    else for (const fragment of run) if (isWorthIt(fragment, mode)) yield [fragment]
  }
}

/** Cut where a fragment would be full. */
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
    rows += livingRows(fragment)
    if (bytes < fullBytes && rows < fullRows) continue
    yield piece
    piece = []
    bytes = 0
    rows = 0
  }
  if (piece.length > 1 || piece.some(fragment => isWorthIt(fragment, mode))) yield piece
}

function livingRows({ rows, dead }: Fragment): number {
  return rows - dead.count
}

/** Of the living rows. */
function bytesOf(fragment: Fragment): number {
  const bytes = fragment.files.reduce((sum, file) => sum + file.bytes, 0)
  return (bytes * livingRows(fragment)) / Math.max(1, fragment.rows)
}

function sizeOf(fragment: Fragment): number {
  const bytes = Math.max(smallBytes, bytesOf(fragment))
  return Math.floor(Math.log(bytes / smallBytes) / Math.log(sizeFactor))
}

function isFull(fragment: Fragment, fullBytes: number): boolean {
  return livingRows(fragment) >= fullRows || bytesOf(fragment) >= fullBytes
}

/** Whether a fragment is to be written anew on its own account: rows that ride in a slot keep it from being let go. */
function isWorthIt({ rows, dead, files }: Fragment, mode: CompactionMode): boolean {
  if (dead.count > deadShare[mode] * rows) return true
  return mode === 'thorough' && files.some(file => 'slot' in file)
}
