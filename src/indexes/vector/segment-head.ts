/** What the footer of every segment says, and how its sections of numbers are read. */
import { corrupted } from '../../errors.js'
import { type SectionFile, sectionOf } from './section-file.js'
import type { SegmentFacts } from './segment.js'
import type { Space } from './space.js'

export interface SegmentHead {
  readonly shape: 'lists' | 'graph'
  readonly rows: number
  readonly space: Space
  readonly facts: SegmentFacts
}

/** Throws corrupted (code 18) where a file is not one of a segment over `rows` rows of `dim` elements. */
export function checkedHead({ name, footer }: SectionFile, rows: number, dim: number): SegmentHead {
  const head = footer.head as unknown as SegmentHead
  if (head.rows === rows && head.space.dim === dim) return head
  throw corrupted(`${name} numbers ${head.rows} rows of ${head.space.dim} elements, not ${rows} of ${dim}`)
}

/** A section of u32s; `count`: how many there must be. Throws corrupted (code 18). */
export async function numbersOf(file: SectionFile, name: string, count?: number): Promise<Uint32Array> {
  const section = sectionOf(file, name, count === undefined ? undefined : 4 * count)
  const numbers = new Uint32Array(section.bytes / 4)
  await file.readInto(section, new Uint8Array(numbers.buffer))
  return numbers
}
