/** Reports the progress of index builds. */
import type { VectorBuildPhase } from '../indexes/vector/build.js'

/** A callback for the progress of an index build. `done`: number of rows that the phase `phase` has processed. */
export type BuildProgress = (done: number, phase: 'sorting' | VectorBuildPhase) => void
