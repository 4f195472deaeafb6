/** Files of segments without a store. */

import { corrupted } from '../../src/errors.js'
import {
  parseSectionFooter,
  type SectionFile,
  type SegmentBytes,
} from '../../src/indexes/sections/section-file.js'
import { crc32 } from '../../src/primitives/checksum.js'

/** All bytes of a file, and the checksum of its footer. */
export async function collected(file: SegmentBytes): Promise<{ bytes: Buffer; crc: number }> {
  const chunks: Uint8Array[] = []
  for await (const chunk of file.chunks) chunks.push(chunk.slice())
  return { bytes: Buffer.concat(chunks), crc: file.end().footerCrc }
}

/** What a reader sees of such bytes. */
export function opened(bytes: Uint8Array, crc: number): SectionFile {
  const footer = parseSectionFooter(bytes, bytes.length, crc)
  if ('need' in footer) throw new Error(`${footer.need} bytes are needed`)
  return {
    name: 'a file',
    footer,
    async readInto({ start, bytes: length, crc }, target) {
      target.set(bytes.subarray(start, start + length))
      if (crc32(target) !== crc) throw corrupted('a section was changed')
    },
    async readParts(section, parts, target) {
      const first = parts[0]!.start
      target.set(bytes.subarray(section.start + first, section.start + first + target.length))
      for (const { start, bytes: length, crc } of parts) {
        if (crc32(target.subarray(start - first, start - first + length)) !== crc)
          throw corrupted('a part of a section was changed')
      }
    },
    async *pieces({ start, bytes: length, crc }) {
      const all = bytes.subarray(start, start + length)
      yield all
      if (crc32(all) !== crc) throw corrupted('a section was changed')
    },
  }
}
