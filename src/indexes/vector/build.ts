/** Builds and extends vector segments. */
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

/** A segment to extend. Its rows keep their ordinals. New rows get the ordinals after them. */
export interface BaseSegment {
  readonly rows: number
  readonly file: SectionFile
}

/** A phase of a build. Each phase processes every row at most once. The phase `training` reports no rows. */
export type VectorBuildPhase = 'reading' | 'training' | 'assigning' | 'encoding' | 'building' | 'writing'

/** A callback for progress. `done`: number of rows finished in the phase so far. */
export type VectorBuildProgress = (done: number, phase: VectorBuildPhase) => void

/**
 * Maximum bytes of memory of a segment. It is far below the 4 GiB of a WebAssembly memory, so that several segments fit
 * into a process.
 */
const memoryMax = 1.5 * 2 ** 30

/**
 * Minimum number of rows for which several threads build lists. The calling thread finishes fewer rows before threads
 * have started.
 */
const threadedRows = 20_000

/** Return the maximum number of rows of one segment of an index. */
export function maxSegmentRows(spec: VectorSpec, dim: number): number {
  return Math.max(1, Math.min(2 ** 24, Math.floor(memoryMax / rowBytes(spec, dim))))
}

/**
 * Return whether rows can be added to a segment of this kind without reading the vectors of the rows that it already
 * has.
 */
export function isExtendable({ kind }: VectorSpec): boolean {
  return kind !== 'IVF_HNSW_PQ'
}

/**
 * Build a segment, and return the bytes of its file. The input may have no rows, and its vectors may be equal.
 *
 * - `base`: the segment to extend. Null: build a new segment.
 * - `threads`: maximum number of threads that work on a large segment, default 1. With several threads, two builds over
 *   the same rows give different graphs.
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
  const graphOptions = () => {
    return { threads, onRead: counting('encoding'), onInserted: counting('building') }
  }
  if (base !== null) {
    const { shape } = base.file.footer.head as unknown as SegmentHead
    if (shape === 'graph') {
      return extendedGraph(base.file, input, pacer, graphOptions())
    }
    const lists = await readLists(base.file)
    const workers = await openListWorkers(input.rows < threadedRows ? 1 : threads, pacer)
    try {
      return await storedLists(
        { plan: lists.plan, input, base: lists, survey: null },
        workers,
        pacer,
        counting,
      )
    } finally {
      await workers.close()
    }
  }
  const survey = await surveyed(spec, input, pacer, counting('reading'))
  progress(0, 'training')
  if (survey.settings.isGraph) {
    const plan = await planGraph(survey, pacer)
    return newGraph(plan, input, survey, pacer, graphOptions())
  }
  const workers = await openListWorkers(input.rows < threadedRows ? 1 : threads, pacer)
  try {
    const plan = await planLists(survey, workers, pacer)
    return await storedLists({ plan, input, base: null, survey }, workers, pacer, counting)
  } finally {
    await workers.close()
  }
}
