/** A segment to be asked. */
import type { Pacer } from '../../primitives/pacer.js'
import type { SectionFile } from './section-file.js'
import type { VectorIndexSegment } from './segment.js'

/**
 * Reads the whole segment into memory of its own.
 * @throws corrupted (code 18) when it is not one over `rows` rows of `dim` elements.
 */
export declare function openSegment(
  file: SectionFile,
  rows: number,
  dim: number,
  pacer: Pacer,
): Promise<VectorIndexSegment>
