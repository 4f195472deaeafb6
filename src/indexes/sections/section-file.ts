/**
 * The file of a segment: named sections, each under a checksum, and a footer that lists them. A reader takes the sections it wants,
 * whole, straight into the memory they are used in, or parts of a section whose checksums another section has. Layout: docs/format.md,
 * "Vector indexes", for all of them.
 */
import { corrupted, quote } from '../../errors.js'
import { crc32, crcHex } from '../../primitives/checksum.js'
import type { Pacer } from '../../primitives/pacer.js'

/** What can be said in a footer. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

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

/** Bytes of a section that have a checksum of their own. */
export interface SectionPart {
  /** Offset in the section. */
  readonly start: number
  readonly bytes: number
  readonly crc: number
}

/** A file whose footer was read and checked. */
export interface SectionFile {
  /** What messages call it. */
  readonly name: string
  readonly footer: SectionFooter
  /** Fills `target`, as long as the section, and compares the checksum. Throws corrupted (code 18). */
  readInto(section: Section, target: Uint8Array): Promise<void>
  /**
   * Fills `target` with the bytes from the start of the first part to the end of the last, in one read, and compares the checksum of each
   * part. `parts`: at least one, in the order of the file, without overlap. Throws corrupted (code 18).
   */
  readParts(section: Section, parts: readonly SectionPart[], target: Uint8Array): Promise<void>
}

/** What is to be written under a name: bytes, whole or in parts, or a function that makes them once all sections before are written. */
export interface SectionContent {
  readonly name: string
  readonly bytes: Uint8Array | readonly Uint8Array[] | (() => Promise<Uint8Array>)
}

/** Bytes of a file, to be written in this order; `end` once all are taken. */
export interface SegmentBytes {
  readonly chunks: AsyncIterable<Uint8Array>
  end(): { readonly bytes: number; readonly footerCrc: number }
}

/** Of this format; a reader refuses others. */
export const sectionFormat = 1

const magic = 'SHEAFIVF'
const alignment = 64
/** The length of the footer, four zeros, and the magic word. */
const tailBytes = 16
/** Checksums go in pieces of this size, so that no step holds the event loop for long. */
const pieceBytes = 4 * 1024 * 1024

/** The file with these sections. They must stay as they are until all is taken. */
export function sectionFile(head: Json, sections: readonly SectionContent[], pacer: Pacer): SegmentBytes {
  let end: { bytes: number; footerCrc: number } | undefined
  async function* chunks(): AsyncGenerator<Uint8Array> {
    const listed: Section[] = []
    yield padded(Buffer.from(magic))
    let at = alignment
    for (const { name, bytes: content } of sections) {
      let crc = 0
      let sectionEnd = at
      const bytes = typeof content === 'function' ? await content() : content
      for (const part of bytes instanceof Uint8Array ? [bytes] : bytes) {
        for (let from = 0; from < part.length; from += pieceBytes) {
          const piece = part.subarray(from, from + pieceBytes)
          crc = crc32(piece, crc)
          yield piece
          await pacer.turn()
        }
        sectionEnd += part.length
      }
      listed.push({ name, start: at, bytes: sectionEnd - at, crc })
      const gap = -(sectionEnd - at) & (alignment - 1)
      if (gap > 0) yield new Uint8Array(gap)
      at = sectionEnd + gap
    }
    const footer = Buffer.from(JSON.stringify({ format: sectionFormat, head, sections: listed }))
    const tail = Buffer.alloc(tailBytes)
    tail.writeUInt32LE(footer.length)
    tail.write(magic, 8, 'latin1')
    const whole = Buffer.concat([footer, tail])
    yield whole
    end = { bytes: at + whole.length, footerCrc: crc32(whole) }
  }
  return { chunks: chunks(), end: () => end! }
}

/** The bytes of a file that no checksum covers, in order: the magic word, and the zeros before each section and the footer. */
export function* sectionFrame({ sections }: SectionFooter): Generator<{
  readonly start: number
  readonly bytes: Uint8Array
}> {
  yield { start: 0, bytes: padded(Buffer.from(magic)) }
  let at = alignment
  for (const { start, bytes } of sections) {
    if (start < at) throw corrupted(`a section begins at byte ${start}, before ${at}`)
    yield { start: at, bytes: new Uint8Array(start - at) }
    at = start + bytes
  }
  yield { start: at, bytes: new Uint8Array(-at & (alignment - 1)) }
}

function padded(bytes: Uint8Array): Uint8Array {
  const target = new Uint8Array(alignment)
  target.set(bytes)
  return target
}

/**
 * The footer of a file of `fileBytes` bytes, of which `tail` is the end; or how much of the end is needed.
 * @throws corrupted (code 18) where it is not the one whose checksum, from its first byte to the end of the file, is `crc`.
 */
export function parseSectionFooter(
  tail: Uint8Array,
  fileBytes: number,
  crc: number,
): SectionFooter | { readonly need: number } {
  if (fileBytes < alignment + tailBytes) throw corrupted(`an index file of ${fileBytes} bytes is cut off`)
  if (tail.length < tailBytes) return { need: tailBytes }
  const end = Buffer.from(tail.buffer, tail.byteOffset + tail.length - tailBytes, tailBytes)
  const closing = end.toString('latin1', 8)
  if (closing !== magic) throw corrupted(`an index file ends with ${quote(closing)}, not ${magic}: cut off`)
  const need = end.readUInt32LE() + tailBytes
  if (need > fileBytes) throw corrupted(`an index file of ${fileBytes} bytes claims a footer of ${need}`)
  if (tail.length < need) return { need }
  const footer = tail.subarray(tail.length - need)
  const found = crc32(footer)
  if (found !== crc) {
    throw corrupted(`the footer of an index file has checksum ${crcHex(found)}, written was ${crcHex(crc)}`)
  }
  // What the checksum vouches for is what was written.
  const parsed: SectionFooter = JSON.parse(Buffer.from(footer.subarray(0, -tailBytes)).toString())
  if (parsed.format !== sectionFormat) {
    throw corrupted(`an index file is of format ${parsed.format}, known is ${sectionFormat}`)
  }
  return parsed
}

/** Throws corrupted (code 18) where there is none of that name, or of another size. */
export function sectionOf({ name: file, footer }: SectionFile, name: string, bytes?: number): Section {
  const section = footer.sections.find(known => known.name === name)
  if (section === undefined) throw corrupted(`${file} has no section ${quote(name)}`)
  if (bytes !== undefined && section.bytes !== bytes) {
    throw corrupted(`section ${quote(name)} of ${file} has ${section.bytes} bytes, not ${bytes}`)
  }
  return section
}

/** A section of u32s; `count`: how many there must be. Throws corrupted (code 18). */
export async function numbersOf(file: SectionFile, name: string, count?: number): Promise<Uint32Array> {
  const section = sectionOf(file, name, count === undefined ? undefined : 4 * count)
  const numbers = new Uint32Array(section.bytes / 4)
  await file.readInto(section, new Uint8Array(numbers.buffer))
  return numbers
}
