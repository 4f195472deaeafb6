/** Opens files of sections (indexes/section-file.ts): the footer at once, sections when they are asked for. */
import { assert } from '../errors.js'
import { parseSectionFooter, type SectionFile } from '../indexes/section-file.js'
import type { StoredFile } from '../manifest/layout.js'
import type { BlobStore } from '../storage/blob-store.js'
import { readTail, readVerified } from './verified-range.js'

/** Throws corrupted (code 18) when the file is missing, cut off, or not the one the log speaks of. */
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
      assert(target.length === section.bytes, `section ${section.name} of ${path} has another size`)
      return readVerified(store, path, section, [target])
    },
  }
}
