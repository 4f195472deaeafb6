/**
 * Opens section files (indexes/sections/section-file.ts). Opening reads the footer. Sections and parts of sections are
 * read when a caller asks for them.
 */
import { assert, corrupted } from '../errors.js'
import { parseSectionFooter, type SectionFile } from '../indexes/sections/section-file.js'
import type { StoredFile } from '../manifest/layout.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { BlobStore } from '../storage/blob-store.js'
import { pieceBytes, readTail, readVerified } from './verified-range.js'

/**
 * Open a section file. Throws Internal ("corrupted") if the file is missing, shorter than recorded, or does not have
 * the recorded checksum.
 */
export async function openSectionFile(
  store: BlobStore,
  path: string,
  { bytes, crc }: Pick<StoredFile, 'bytes' | 'crc'>,
): Promise<SectionFile> {
  const footer = await readTail(store, path, bytes, tail => parseSectionFooter(tail, bytes, crc))
  return {
    name: path,
    footer,
    readInto(section, target) {
      assert(
        target.length === section.bytes,
        `the target of section ${section.name} of ${path} has ${target.length} bytes, expected ${section.bytes}`,
      )
      return readVerified(store, path, section, [target])
    },
    async readParts(section, parts, target) {
      const first = parts[0]!
      const start = section.start + first.start
      // A single part may be long, so `readVerified` computes its checksum in steps.
      if (parts.length === 1) return readVerified(store, path, { ...first, start }, [target])
      await store.readInto(path, start, target)
      for (const part of parts) {
        const at = part.start - first.start
        const found = crc32(target.subarray(at, at + part.bytes))
        if (found === part.crc) continue
        const where = `bytes ${start + at} to ${start + at + part.bytes} of ${path}`
        throw corrupted(`${where} have checksum ${crcHex(found)}, expected ${crcHex(part.crc)}`)
      }
    },
    async *pieces(section) {
      let crc = 0
      for (let at = 0; at < section.bytes; at += pieceBytes) {
        const length = Math.min(pieceBytes, section.bytes - at)
        const piece = await store.getRange(path, section.start + at, length)
        crc = crc32(piece, crc)
        yield piece
      }
      if (crc === section.crc) return
      const where = `section ${section.name} of ${path}`
      throw corrupted(`${where} has checksum ${crcHex(crc)}, expected ${crcHex(section.crc)}`)
    },
  }
}
