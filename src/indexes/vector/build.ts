/** Builds and extends segments. */
import type { Pacer } from '../../primitives/pacer.js'
import type { SectionFile, SegmentBytes } from '../sections/section-file.js'
import { extendedGraph, newGraph, planGraph } from './build-graph.js'
import { planLists, storedLists } from './build-lists.js'
import type { VectorInput } from './input.js'
import type { VectorSpec } from './kind.js'
import { openListWorkers } from './list-threads.js'
import type { SegmentHead } from './segment-head.js'
import { rowBytes } from './settings.js'
import { readLists } from './stored-lists.js'
import { surveyed } from './survey.js'

/** A segment whose rows keep their ordinals, and get more behind them. */
export interface BaseSegment {
  readonly rows: number
  readonly file: SectionFile
}

/** Each passes all rows at most once; `training` passes none. */
export type VectorBuildPhase = 'reading' | 'training' | 'assigning' | 'encoding' | 'building' | 'writing'

/** `done`: rows of the phase. */
export type VectorBuildProgress = (done: number, phase: VectorBuildPhase) => void

/** Bytes of memory that one segment takes at most: far below what a WebAssembly memory may have, so that several fit a process. */
const memoryMax = 1.5 * 2 ** 30

/** Rows from which on several threads build a segment of lists: fewer are built before threads are there. */
const threadedRows = 20_000

/** Rows that one segment of such an index numbers at most. */
export function maxSegmentRows(spec: VectorSpec, dim: number): number {
  return Math.max(1, Math.min(2 ** 24, Math.floor(memoryMax / rowBytes(spec, dim))))
}

/** Whether rows can be added to a segment without a look at those it has. */
export function isExtendable({ kind }: VectorSpec): boolean {
  return kind !== 'IVF_HNSW_PQ'
}

/**
 * Never fails for having few rows, none, or all the same. `base`: what is extended; null: a new one. `threads`: how many may work on a large
 * one; with more than one a graph is not the same every time.
 */
export async function buildSegment(
  spec: VectorSpec,
  input: VectorInput,
  base: BaseSegment | null,
  pacer: Pacer,
  progress: VectorBuildProgress,
  threads = 1,
): Promise<SegmentBytes> {
  const phases = new Map<VectorBuildPhase, number>()
  const counting = (phase: VectorBuildPhase) => (rows: number) => {
    const done = (phases.get(phase) ?? 0) + rows
    phases.set(phase, done)
    progress(done, phase)
  }
  if (base !== null) {
    const { shape } = base.file.footer.head as unknown as SegmentHead
    if (shape === 'graph') {
      return extendedGraph(base.file, input, pacer, counting('encoding'), counting('building'), threads)
    }
    const lists = await readLists(base.file)
    const workers = await openListWorkers(input.rows < threadedRows ? 1 : threads, pacer)
    try {
      return await storedLists(lists.plan, input, lists, null, workers, pacer, counting)
    } finally {
      await workers.close()
    }
  }
  const survey = await surveyed(spec, input, pacer, counting('reading'))
  progress(0, 'training')
  if (survey.settings.isGraph) {
    const plan = await planGraph(survey, pacer)
    return newGraph(plan, input, survey, pacer, counting('encoding'), counting('building'), threads)
  }
  const workers = await openListWorkers(input.rows < threadedRows ? 1 : threads, pacer)
  try {
    const plan = await planLists(survey, workers, pacer)
    return await storedLists(plan, input, null, survey, workers, pacer, counting)
  } finally {
    await workers.close()
  }
}
