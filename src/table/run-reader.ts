/**
 * Reads consecutive rows of a stored column in long reads of adjacent blocks. Checks each read as a whole against a
 * checksum that is combined from the checksums of its blocks.
 */
import { checkPage, pageBytes, sumAt, sumsPerPage } from '../arrow/block-sums.js'
import type { Column } from '../arrow/column.js'
import { firstSumsOf } from '../arrow/file-layout.js'
import { runOfRows, type Stretch } from '../arrow/run-of-rows.js'
import { joinedCrc } from '../primitives/checksum.js'
import { readDictionaries } from './data-file.js'
import type { StoredColumn } from './row-fetcher.js'
import type { TableSource } from './table-source.js'
import { inFile, readVerified } from './verified-range.js'

/**
 * Read rows `from` to `to - 1` of a column that is cut into blocks. `from` must be a multiple of 8. Throws Internal
 * ("corrupted") if the file is missing, shorter than recorded, or damaged.
 */
export async function readRun(
  source: TableSource,
  stored: StoredColumn,
  from: number,
  to: number,
): Promise<Column> {
  const { path, range, field } = stored
  const dictionaries = await readDictionaries(source, path, range)
  const reading = runOfRows(field, range, from, to, dictionaries)
  for (;;) {
    const { done, value } = inFile(path, () => reading.next())
    if (done === true) return value
    await Promise.all(value.map(stretch => readStretch(source, stored, stretch)))
  }
}

async function readStretch(
  { store }: TableSource,
  { path, layout, range }: StoredColumn,
  { buffer, block, target }: Stretch,
): Promise<void> {
  const size = range.blocks[buffer]!
  const count = Math.ceil(target.length / size)
  const sum = firstSumsOf(range)[buffer]! + block
  const first = Math.floor(sum / sumsPerPage)
  const pages = new Uint8Array((Math.floor((sum + count - 1) / sumsPerPage) + 1 - first) * pageBytes)
  await store.readRanges(path, [{ offset: layout.sums.start + first * pageBytes, target: pages }])
  const pageAt = (number: number) => pages.subarray(number * pageBytes, (number + 1) * pageBytes)
  for (let page = 0; page * pageBytes < pages.length; page++) checkPage(pageAt(page), first + page, path)
  const sums = new Uint32Array(count)
  for (let i = 0; i < count; i++) {
    const number = sum + i - first * sumsPerPage
    sums[i] = sumAt(pages, Math.floor(number / sumsPerPage) * (pageBytes / 4) + (number % sumsPerPage))
  }
  const start = range.start + range.buffers[2 * buffer]! + block * size
  const crc = joinedCrc(sums, size, target.length)
  await readVerified(store, path, { start, bytes: target.length, crc }, [target])
}
