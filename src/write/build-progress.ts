import type { VectorBuildPhase } from '../indexes/vector/build.js'

/** How far the building of an index is: rows of a phase, of those there are. */
export type BuildProgress = (done: number, phase: 'sorting' | VectorBuildPhase) => void
