/**
 * The file of a segment: named sections, each under a checksum, and a footer that lists them. A reader takes the sections it wants,
 * whole, straight into the memory they are used in. Layout: docs/format.md, "Vector indexes".
 */
import type { Json } from '../../commit/machine.js'

export interface Section {
  readonly name: string
  /** Offset in the file; a multiple of 64. */
  readonly start: number
  readonly bytes: number
  readonly crc: number
}

export interface SectionFooter {
  readonly format: number
  /** What the sections mean: whatever whoever wrote them has to know again. */
  readonly head: Json
  readonly sections: readonly Section[]
}

/** A file whose footer was read and checked. */
export interface SectionFile {
  readonly footer: SectionFooter
  /** Fills `target`, as long as the section, and compares the checksum. Throws corrupted (code 18). */
  readInto(section: Section, target: Uint8Array): Promise<void>
}
