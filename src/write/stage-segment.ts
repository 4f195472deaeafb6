/** Stages index segments. */
import type { SegmentBytes } from '../indexes/sections/section-file.js'
import { filePath } from '../manifest/file-names.js'
import type { IndexSegment } from '../manifest/table-index.js'
import { newFileName, type StageTarget } from './stage.js'

/** Write the file of a segment. Returns the facts by which a commit refers to the file. */
export async function storeSegment(
  { chunks, end }: SegmentBytes,
  target: StageTarget,
  signal: AbortSignal | undefined,
): Promise<Pick<IndexSegment, 'file' | 'bytes' | 'crc'>> {
  const file = newFileName(target)
  await target.store.putStream(`${target.location}/${filePath('indexes', file)}`, chunks, signal)
  const { bytes, footerCrc: crc } = end()
  return { file, bytes, crc }
}
