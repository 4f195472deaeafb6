/** Segments of text indexes without a store, and without an analyzer worth the name. */
import type { Column } from '../../src/arrow/column.js'
import { corrupted } from '../../src/errors.js'
import type { SegmentBytes } from '../../src/indexes/sections/section-file.js'
import type { Analyzer, TermNumbering, Token } from '../../src/indexes/text/analysis/analyzer.js'
import type { TextInput } from '../../src/indexes/text/input.js'
import { openTextSegment } from '../../src/indexes/text/open.js'
import { defaultTextOptions } from '../../src/indexes/text/options.js'
import { openPagedText, type PagedText } from '../../src/indexes/text/paged.js'
import type { PageReader } from '../../src/indexes/text/pages.js'
import type { TextSegment } from '../../src/indexes/text/segment.js'
import { crc32 } from '../../src/primitives/checksum.js'
import { collected, opened } from './section-files.js'

/** A row of a text column, or of one of lists. */
export type Text = string | null | readonly (string | null)[]

function tokens(text: string): Token[] {
  const found: Token[] = []
  let position = 0
  // What begins with "-" is dropped, and leaves its position empty.
  for (const { 0: term, index } of text.matchAll(/[^ ]+/g)) {
    if (!term.startsWith('-')) found.push({ term, position, start: index, end: index + term.length })
    position++
  }
  return found
}

class PlainNumbering implements TermNumbering {
  readonly terms: string[] = []
  numbers = new Uint32Array(0)
  positions = new Uint32Array(0)
  readonly #known = new Map<string, number>()

  get bytes(): number {
    return this.terms.length * 64
  }

  read(bytes: Uint8Array, from: number, to: number): number {
    const found = tokens(Buffer.from(bytes.subarray(from, to)).toString())
    this.positions = Uint32Array.from(found, ({ position }) => position)
    this.numbers = Uint32Array.from(found, ({ term }) => {
      const known = this.#known.get(term)
      if (known !== undefined) return known
      this.#known.set(term, this.terms.length)
      return this.terms.push(term) - 1
    })
    return found.length
  }
}

/** Cuts at spaces. */
export const plainAnalyzer: Analyzer = {
  options: defaultTextOptions,
  identity: 'plain',
  tokens,
  prefixText: text => ({ tokens: tokens(text), prefix: null }),
  numbering: () => new PlainNumbering(),
}

function utf8Column(texts: readonly (string | null)[]): Column {
  const cells = texts.map(text => Buffer.from(text ?? 'hidden'))
  const offsets = new Int32Array(texts.length + 1)
  for (const [i, cell] of cells.entries()) offsets[i + 1] = offsets[i]! + cell.length
  return {
    type: { kind: 'utf8', large: false },
    length: texts.length,
    ...validityOf(texts),
    values: new Uint8Array(Buffer.concat(cells)),
    offsets,
    children: [],
    dictionary: null,
  }
}

export function textColumn(texts: readonly Text[]): Column {
  if (texts.every(text => text === null || typeof text === 'string')) return utf8Column(texts)
  const lists = texts.map(text => (text === null ? ['hidden'] : typeof text === 'string' ? [text] : text))
  const offsets = new Int32Array(texts.length + 1)
  for (const [i, list] of lists.entries()) offsets[i + 1] = offsets[i]! + list.length
  const child = utf8Column(lists.flat())
  return {
    type: {
      kind: 'list',
      large: false,
      child: { name: 'item', type: child.type, nullable: true, metadata: null },
    } as unknown as Column['type'],
    length: texts.length,
    ...validityOf(texts),
    values: null,
    offsets,
    children: [child],
    dictionary: null,
  }
}

function validityOf(rows: readonly unknown[]): Pick<Column, 'nullCount' | 'validity'> {
  const nullCount = rows.filter(row => row === null).length
  if (nullCount === 0) return { nullCount, validity: null }
  const validity = new Uint8Array((rows.length + 7) >>> 3)
  for (const [i, row] of rows.entries()) if (row !== null) validity[i >>> 3]! |= 1 << (i & 7)
  return { nullCount, validity }
}

export function textInput(texts: readonly Text[], pieceRows = 1000): TextInput {
  return {
    rows: texts.length,
    async *pieces() {
      for (let first = 0; first < texts.length; first += pieceRows) {
        yield { first, column: textColumn(texts.slice(first, first + pieceRows)) }
      }
    },
  }
}

/** The bytes of a file that is read from memory. */
export interface TextFile {
  readonly bytes: Uint8Array
  readonly crc: number
  readonly rows: number
}

export async function textFile(built: SegmentBytes & { readonly rows: number }): Promise<TextFile> {
  return { ...(await collected(built)), rows: built.rows }
}

/** `read`: gets the number of each page that is read; pages are kept. */
export function openTextFile(file: TextFile, read: number[] = []): Promise<TextSegment> {
  return openTextSegment(opened(file.bytes, file.crc), pagesOf(file, read), file.rows)
}

/** As `openTextFile`, for a file whose dictionary has pages. */
export function openPagedTextFile(file: TextFile, read: number[] = []): Promise<PagedText> {
  return openPagedText(opened(file.bytes, file.crc), pagesOf(file, read), file.rows)
}

function pagesOf({ bytes }: TextFile, read: number[]): PageReader {
  const kept = new Map<number, Uint8Array>()
  return {
    page(number, range, signal) {
      const known = kept.get(number)
      if (known !== undefined) return known
      return Promise.resolve().then(() => {
        signal?.throwIfAborted()
        const page = new Uint8Array(bytes.subarray(range.start, range.start + range.bytes))
        if (crc32(page) !== range.crc) throw corrupted(`page ${number} was changed`)
        read.push(number)
        kept.set(number, page)
        return page
      })
    },
  }
}
