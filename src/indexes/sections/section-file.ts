/**
 * Writes and reads section files, the files of vector and text index segments. A section file has named sections, each
 * with a checksum, and a footer that lists the sections. A reader loads whole sections directly into the memory in
 * which they are used. It can also load parts of a section if another section contains the checksums of the parts. The
 * format is described in docs/format.md, "Vector indexes".
 */
import { corrupted, quote } from '../../errors.js'
import { crc32, crcHex } from '../../primitives/checksum.js'
import type { Pacer } from '../../primitives/pacer.js'

/** A JSON value in a footer. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** The entry of a section in the footer. */
export interface Section {
  readonly name: string
  /** Offset in the file; a multiple of 64. */
  readonly start: number
  readonly bytes: number
  readonly crc: number
}

/** The parsed footer of a file. */
export interface SectionFooter {
  readonly format: number
  /** Metadata of the segment, with which its reader interprets the sections. */
  readonly head: Json
  readonly sections: readonly Section[]
}

/** A byte range of a section that has its own checksum. */
export interface SectionPart {
  /** Offset in the section. */
  readonly start: number
  readonly bytes: number
  readonly crc: number
}

/** A file whose footer was read and checked. */
export interface SectionFile {
  /** The name of the file for error messages. */
  readonly name: string
  readonly footer: SectionFooter
  /** Read a section into `target`, which has the length of the section. Throws Internal if the checksum differs. */
  readInto(section: Section, target: Uint8Array): Promise<void>
  /**
   * Read the bytes from the start of the first part to the end of the last part into `target`, in one read, and check
   * each part. `parts`: at least one, in file order, without overlap. Throws Internal if a checksum differs.
   */
  readParts(section: Section, parts: readonly SectionPart[], target: Uint8Array): Promise<void>
  /**
   * Read a section of any size piece by piece. Throws Internal after the last piece if the checksum of the section
   * differs.
   */
  pieces(section: Section): AsyncIterable<Uint8Array>
}

/**
 * The name and the content of a section to write. If the content is a function, it is called after earlier sections are
 * written.
 */
export interface SectionContent {
  readonly name: string
  readonly bytes: SectionBytes | (() => Promise<SectionBytes> | AsyncIterable<Uint8Array>)
}

type SectionBytes = Uint8Array | readonly Uint8Array[]

/** The bytes of a new file, in order. Call `end` only after all chunks are consumed. */
export interface SegmentBytes {
  readonly chunks: AsyncIterable<Uint8Array>
  end(): { readonly bytes: number; readonly footerCrc: number }
}

/** The version of the file format. Readers reject files with other versions. */
const sectionFormat = 1

const magic = 'SHEAFIVF'
const alignment = 64
/** Length of the end of a file: the footer length (u32), four zeros, and the magic word. */
const tailBytes = 16
/** Bytes per checksum step, so that no step blocks the event loop for long. */
const pieceBytes = 4 * 1024 * 1024

/** Return the bytes of a file with these sections. The sections must not change until all chunks are consumed. */
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
      for await (const part of bytes instanceof Uint8Array ? [bytes] : bytes) {
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

/**
 * Return the bytes of a file that no checksum covers, in file order. They are the magic word, and the zeros before each
 * section and before the footer. Throws Internal if sections overlap.
 */
export function* sectionFrame({ sections }: SectionFooter): Generator<{
  readonly start: number
  readonly bytes: Uint8Array
}> {
  yield { start: 0, bytes: padded(Buffer.from(magic)) }
  let at = alignment
  for (const { start, bytes } of sections) {
    if (start < at)
      throw corrupted(`a section begins at byte ${start}, but the previous section ends at byte ${at}`)
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
 * Parse the footer of a file of `fileBytes` bytes. If `tail` does not contain the whole footer, return the number of
 * bytes that are needed. Throws Internal if the checksum differs, the file is incomplete, or the format is unknown.
 *
 * - `tail`: the last bytes of the file, any number of them.
 * - `crc`: the recorded checksum of the bytes from the start of the footer to the end of the file.
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
  if (closing !== magic)
    throw corrupted(`an index file is cut off: it ends with ${quote(closing)}, not ${magic}`)
  const need = end.readUInt32LE() + tailBytes
  if (need > fileBytes) throw corrupted(`an index file of ${fileBytes} bytes claims a footer of ${need}`)
  if (tail.length < need) return { need }
  const footer = tail.subarray(tail.length - need)
  const found = crc32(footer)
  if (found !== crc) {
    throw corrupted(`the footer of an index file has checksum ${crcHex(found)}, expected ${crcHex(crc)}`)
  }
  // The checksum matches, so the JSON is what the writer wrote.
  const parsed: SectionFooter = JSON.parse(Buffer.from(footer.subarray(0, -tailBytes)).toString())
  if (parsed.format !== sectionFormat) {
    throw corrupted(
      `an index file has format ${parsed.format}, but only format ${sectionFormat} is supported`,
    )
  }
  return parsed
}

/**
 * Return the section `name`. Throws Internal if it is missing or does not have `bytes` bytes. `bytes` undefined: any
 * size.
 */
export function sectionOf({ name: file, footer }: SectionFile, name: string, bytes?: number): Section {
  const section = footer.sections.find(known => known.name === name)
  if (section === undefined) throw corrupted(`${file} has no section ${quote(name)}`)
  if (bytes !== undefined && section.bytes !== bytes) {
    throw corrupted(`section ${quote(name)} of ${file} has ${section.bytes} bytes, not ${bytes}`)
  }
  return section
}

/**
 * Read a section of u32s. Throws Internal if the section is missing or damaged, or does not have `count` numbers.
 * `count` undefined: any number of numbers.
 */
export async function numbersOf(file: SectionFile, name: string, count?: number): Promise<Uint32Array> {
  const section = sectionOf(file, name, count === undefined ? undefined : 4 * count)
  const numbers = new Uint32Array(section.bytes / 4)
  await file.readInto(section, new Uint8Array(numbers.buffer))
  return numbers
}
