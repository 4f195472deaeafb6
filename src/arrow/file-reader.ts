/**
 * Reads data files column by column. The caller reads the bytes from the file: first the footer, then the ranges of the
 * columns that it needs. The functions of this module parse these bytes and do no I/O.
 */
import { corrupted, quote, SheafError } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import { assembleColumns } from './assemble.js'
import { pageBytes, pagesFor } from './block-sums.js'
import { Budget } from './budget.js'
import type { Column } from './column.js'
import {
  type ColumnRange,
  type DictionaryEntry,
  type DictionaryRange,
  decodeLayout,
  LayoutCursor,
  layoutKey,
  stretchRows,
} from './file-layout.js'
import { type Block, decodeFooter, type Footer, fileMagic } from './ipc-message.js'
import { asBytes } from './layout.js'
import { runAtOnce } from './steps.js'
import type { Field, Schema } from './types.js'
import { dictionaryFields, type WireField, wireFields } from './wire-field.js'

/** The positions of a batch's columns in the file. */
interface BatchLayout {
  /** Number of rows. */
  readonly length: number
  /** One range per field of the schema, in the order of the fields. */
  readonly columns: readonly ColumnRange[]
}

/** The content of a footer. */
export interface FileLayout {
  readonly schema: Schema
  /** Number of rows of all batches together. */
  readonly rows: number
  readonly batches: readonly BatchLayout[]
  /** All dictionaries, in the order of the file. */
  readonly dictionaries: readonly DictionaryRange[]
  /** The block checksums: the offset of their first page, and their number. */
  readonly sums: { readonly start: number; readonly count: number }
}

/** Bytes at the end of a file: the footer length and the closing magic. */
const tailBytes = 4 + fileMagic.length

/**
 * Parse the footer of a file. `tail`: the last bytes of the file. `fileBytes`: the size of the file. `expectedCrc`: the
 * `footerCrc` that the writer returned; undefined: the footer's checksum is not checked.
 *
 * If `tail` does not contain the whole footer, returns `need`, the number of last bytes to read for another call.
 * @throws Internal if the file is cut off, was not written by Sheaf, or has another checksum.
 */
export function parseFileFooter(
  tail: Uint8Array,
  fileBytes: number,
  expectedCrc?: number,
): FileLayout | { readonly need: number } {
  if (fileBytes < tailBytes + 8) throw corrupted(`a data file of ${fileBytes} bytes is cut off`)
  if (tail.length < tailBytes) return { need: tailBytes }
  const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength)
  const closing = Buffer.from(tail.subarray(tail.length - fileMagic.length)).toString('latin1')
  if (closing !== fileMagic)
    throw corrupted(`a data file is cut off: it ends with ${quote(closing)}, not ${fileMagic}`)
  const footerBytes = view.getInt32(tail.length - tailBytes, true)
  const need = footerBytes + tailBytes
  if (footerBytes <= 0 || need > fileBytes) {
    throw corrupted(`a data file of ${fileBytes} bytes cannot have a footer of ${footerBytes} bytes`)
  }
  if (tail.length < need) return { need }
  const footer = tail.subarray(tail.length - need)
  if (expectedCrc !== undefined) checkCrc('the footer of a data file', crc32(footer), expectedCrc)
  try {
    return readLayout(decodeFooter(footer.subarray(0, footerBytes), fileBytes - need), fileBytes - need)
  } catch (error) {
    if (!(error instanceof SheafError)) throw error
    throw corrupted(`the footer of a data file cannot be read: ${error.message}`, { cause: error })
  }
}

function checkCrc(what: string, crc: number, expected: number): void {
  if (crc === expected) return
  throw corrupted(`${what} has checksum ${crcHex(crc)}, expected ${crcHex(expected)}`)
}

function readLayout(footer: Footer, end: number): FileLayout {
  const text = footer.metadata[layoutKey]
  if (text === undefined)
    throw corrupted(`the footer of a data file has no ${layoutKey}, so Sheaf did not write the file`)
  const entries = decodeLayout(text)
  const { schema, fields } = footer.decoded
  if (entries.batches.length !== footer.batches.length) throw miscounted('batches')
  if (entries.dictionaries.length !== footer.dictionaries.length) throw miscounted('dictionaries')
  for (const block of [...footer.dictionaries, ...footer.batches]) {
    if (block.offset + block.metadataBytes + block.bodyBytes > end) throw miscounted('bytes')
  }
  const dictionaries = readDictionaries(entries.dictionaries, footer.dictionaries, fields)
  const needed = fields.map(field =>
    dictionaryFields([field]).map(({ dictionaryId }) => knownDictionary(dictionaries, dictionaryId)),
  )
  const zones = new Map(entries.zones)
  for (const perBatch of zones.values())
    if (perBatch.length !== entries.batches.length) throw miscounted('zones')
  const batches: BatchLayout[] = []
  let rows = 0
  let count = 0
  for (const [i, entry] of entries.batches.entries()) {
    const [length, nodes, buffers, crcs] = entry
    if (buffers.length !== entries.blocks.length) throw miscounted('buffers')
    const cursor = new LayoutCursor(nodes, buffers, footer.batches[i]!, entries.blocks, count)
    const zonesOf = (column: number) => zones.get(column)?.[i] ?? null
    batches.push(readBatch(length, crcs, cursor, fields, needed, zonesOf))
    rows += length
    count = cursor.sums
  }
  const start = end - pageBytes * pagesFor(count)
  for (const { offset, metadataBytes, bodyBytes } of footer.batches) {
    if (offset + metadataBytes + bodyBytes > start) throw miscounted('checksums')
  }
  return { schema, rows, batches, dictionaries: [...dictionaries.values()], sums: { start, count } }
}

function miscounted(what: string): SheafError {
  return corrupted(`${layoutKey} and the rest of the footer have different numbers of ${what}`)
}

function readDictionaries(
  entries: readonly DictionaryEntry[],
  blocks: readonly Block[],
  fields: readonly WireField[],
): Map<number, DictionaryRange> {
  const byId = new Map(dictionaryFields(fields).map(field => [field.dictionaryId, field.values!]))
  const out = new Map<number, DictionaryRange>()
  entries.forEach(([id, nodes, buffers, crc], i) => {
    const values = byId.get(id)
    if (values === undefined) throw corrupted(`no column uses dictionary ${id}`)
    const inner = dictionaryFields([values]).map(field => knownDictionary(out, field.dictionaryId))
    const cursor = new LayoutCursor(nodes, buffers, blocks[i]!, null)
    const range = cursor.next(values, crc, inner)
    cursor.finish()
    const field: Field = { name: values.path, type: values.type, nullable: true }
    out.set(id, { id, field, range })
  })
  return out
}

function knownDictionary(dictionaries: ReadonlyMap<number, DictionaryRange>, id: number): DictionaryRange {
  const known = dictionaries.get(id)
  if (known === undefined) throw corrupted(`a column needs dictionary ${id}, which the file does not have`)
  return known
}

function readBatch(
  length: number,
  crcs: readonly number[],
  cursor: LayoutCursor,
  fields: readonly WireField[],
  needed: readonly (readonly DictionaryRange[])[],
  zonesOf: (column: number) => ColumnRange['zones'],
): BatchLayout {
  if (crcs.length !== fields.length) throw miscounted('columns')
  const columns = fields.map((field, i) => cursor.next(field, crcs[i]!, needed[i]!, zonesOf(i)))
  cursor.finish()
  const stretches = Math.ceil(length / stretchRows)
  for (const { nodes, zones } of columns) {
    if (nodes[0] !== length) throw miscounted('rows')
    if (zones !== null && zones.length !== 3 * stretches) throw miscounted('zones')
  }
  return { length, columns }
}

/** Options of `assembleColumn`. */
interface AssembleColumnOptions {
  /** By dictionary id: the values of each of the range's `dictionaries`. */
  readonly dictionaries?: ReadonlyMap<number, Column>
  /**
   * The bytes of the range's `cells`, if the caller read them to another address, for example to the memory of a
   * kernel. Then the parameter `bytes` needs only the bytes of the range before the cells.
   */
  readonly cells?: Uint8Array
  /** Whether the checksum was already verified. Default: false. */
  readonly verified?: boolean
}

/**
 * Build a column from the bytes of its range. Does not copy the bytes if they are aligned to 8 bytes.
 * @throws Internal if bytes are missing or damaged.
 */
export function assembleColumn(
  field: Field,
  range: ColumnRange,
  bytes: Uint8Array,
  options: AssembleColumnOptions = {},
): Column {
  const { cells } = options
  const before = cells === undefined ? range.bytes : range.cells?.offset
  if (before === undefined || bytes.length < before || (cells && cells.length !== range.cells?.bytes)) {
    const given = bytes.length + (cells?.length ?? 0)
    throw corrupted(`column ${quote(field.name)} needs ${range.bytes} bytes, got ${given}`)
  }
  const columnBytes = asBytes(bytes).subarray(0, before)
  if (options.verified !== true) {
    const crc = cells === undefined ? crc32(columnBytes) : crc32(cells, crc32(columnBytes))
    checkCrc(`column ${quote(field.name)} at byte ${range.start}`, crc, range.crc)
  }
  const ids = range.dictionaries.map(dictionary => dictionary.id)
  const wire = wireFields({ fields: [field] }, ids.length === 0 ? 0 : Math.min(...ids))
  const header = {
    length: range.nodes[0]!,
    nodes: range.nodes,
    buffers: range.buffers,
    codec: null,
    viewBuffers: [],
  }
  const body = { header, bytes: columnBytes, at: range.start }
  try {
    const steps = assembleColumns(
      wire,
      cells ? { ...body, replaced: { buffer: 2, bytes: asBytes(cells) } } : body,
      {
        budget: new Budget(Number.POSITIVE_INFINITY),
        checkText: false,
        dictionaryOf: ({ dictionaryId }) => {
          const dictionary = options.dictionaries?.get(dictionaryId)
          if (dictionary === undefined) {
            throw corrupted(
              `column ${quote(field.name)} needs dictionary ${dictionaryId}, which was not read`,
            )
          }
          return dictionary
        },
      },
    )
    return runAtOnce(steps)[0]!
  } catch (error) {
    if (!(error instanceof SheafError)) throw error
    throw corrupted(`column ${quote(field.name)} cannot be read: ${error.message}`, { cause: error })
  }
}
