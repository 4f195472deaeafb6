/** Progress of index builds. */
import type { VectorBuildPhase } from '../indexes/vector/build.js'

/** Progress of an index build: number of rows that the phase has done. */
export type BuildProgress = (done: number, phase: 'sorting' | VectorBuildPhase) => void
