/** Builds and extends segments. */
import type { Pacer } from '../../primitives/pacer.js'
import type { VectorInput } from './input.js'
import type { VectorSpec } from './kind.js'
import type { SectionFile, SegmentBytes } from './section-file.js'

/** A segment whose rows keep their ordinals, and get more behind them. */
export interface BaseSegment {
  readonly rows: number
  readonly file: SectionFile
}

export type VectorBuildPhase = 'reading' | 'training' | 'building' | 'writing'

/** `done`: rows of the phase. */
export type VectorBuildProgress = (done: number, phase: VectorBuildPhase) => void

/** Rows that one segment of such an index numbers at most. */
export declare function maxSegmentRows(spec: VectorSpec, dim: number): number

/** Never fails for having few rows, none, or all the same. `base`: what is extended; null: a new one. */
export declare function buildSegment(
  spec: VectorSpec,
  input: VectorInput,
  base: BaseSegment | null,
  pacer: Pacer,
  progress: VectorBuildProgress,
): Promise<SegmentBytes>
