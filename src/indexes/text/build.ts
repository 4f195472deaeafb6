/** Builds text segments. */
import type { Pacer } from '../../primitives/pacer.js'
import { sortedTexts } from '../../sql/kernels/sort-texts.js'
import type { ByteRows } from '../../sql/values/vector.js'
import { type Json, type SegmentBytes, sectionFile } from '../sections/section-file.js'
import type { Analyzer, TermNumbering } from './analysis/analyzer.js'
import { Collector } from './collect.js'
import { PostingsEncoder, type TermRows } from './encode-postings.js'
import type { TextInput } from './input.js'
import { inverted } from './invert.js'
import type { Numbers } from './narrow.js'
import { PageWriter } from './page-table.js'
import type { TextFacts } from './segment.js'
import { dividedTerms } from './term-pages.js'
import { type TermSections, TermsWriter } from './terms.js'

/** A phase of a build. In `writing`, the progress in rows is estimated from the number of postings written. */
type TextBuildPhase = 'reading' | 'writing'

/** A callback for progress. `done`: number of rows finished in the phase so far. */
type TextBuildProgress = (done: number, phase: TextBuildPhase) => void

/** The metadata in the footer of a segment. */
export interface TextHead {
  readonly shape: 'text'
  readonly rows: number
  readonly facts: TextFacts
}

/** The bytes of a segment's file, and its number of rows. */
interface TextSegmentBytes extends SegmentBytes {
  /** Number of rows in the segment: the first rows of the input. */
  readonly rows: number
}

/** Maximum number of rows of one segment. */
export const maxTextSegmentRows = 2 ** 21

/**
 * Maximum number of term occurrences: a segment ends with the row that reaches this number. It bounds the memory of a
 * build. Besides the file and the distinct terms, a build needs at most 9 bytes per occurrence, or 17 bytes with
 * positions. Typically this is 300 MiB, or 550 MiB with positions.
 */
const tokensMax = 2 ** 25
/** Maximum bytes of the distinct terms: a segment also ends with the row that reaches this number. */
const termBytesMax = 512 * 1024 * 1024
/** Terms read between two checks of the clock. */
const tokensAtOnce = 512
/** Distinct terms processed between two checks of the clock. */
const termsAtOnce = 2048
/**
 * Minimum number of rows of a frequent term. It begins a new page, so that readers of rare terms do not read its
 * postings.
 */
const frequentDocs = 16 * 1024

/**
 * Build a segment over the first rows of the input. The segment takes rows until it is full, and at least one row
 * unless the input is empty. The caller builds further segments over the remaining rows. `termPageBytes`: bytes of a page
 * of the dictionary; null: readers read the dictionary whole. Throws the reason of the pacer's signal if it is aborted.
 */
export async function buildTextSegment(
  input: TextInput,
  analyzer: Analyzer,
  positions: boolean,
  pacer: Pacer,
  progress: TextBuildProgress,
  termPageBytes: number | null = null,
): Promise<TextSegmentBytes> {
  const numbering = analyzer.numbering()
  const collected = new Collector(Math.min(input.rows, maxTextSegmentRows), numbering, positions)
  await collect(input, collected, numbering, pacer, progress)
  const { rows, docs, tokens } = collected
  const terms = await encodedTerms(numbering.terms, pacer)
  const count = numbering.terms.length
  const order = await sortedTexts(terms, count, pacer)
  const termRows = await inverted(collected, order, pacer)
  const written = await writeTerms(terms, order, collected.termDocs, termRows, pacer, done =>
    progress(Math.floor((done / collected.postings) * rows), 'writing'),
  )
  const { postings, positionPages, sections } = written
  const facts: TextFacts = { docs, tokens, terms: count, positions, identity: analyzer.identity }
  const head: TextHead = { shape: 'text', rows, facts }
  const { lengths } = termRows
  const divided =
    termPageBytes === null ? null : await dividedTerms(sections, postings.pages, termPageBytes, pacer)
  const file = sectionFile(
    head as unknown as Json,
    [
      { name: 'lengths', bytes: bytesOf(lengths) },
      { name: 'terms', bytes: sections.terms },
      { name: 'entries', bytes: sections.entries },
      { name: 'blocks', bytes: bytesOf(sections.blocks) },
      ...(divided === null
        ? []
        : [
            { name: 'termPages', bytes: bytesOf(divided.pages) },
            { name: 'firstTerms', bytes: divided.firsts },
          ]),
      { name: 'postingPages', bytes: postings.table() },
      { name: 'positionPages', bytes: positionPages.table() },
      { name: 'postings', bytes: postings.pages },
      { name: 'positions', bytes: positionPages.pages },
    ],
    pacer,
  )
  return { ...file, rows }
}

/** Read rows until the input ends or the segment is full. */
async function collect(
  input: TextInput,
  collected: Collector,
  numbering: TermNumbering,
  pacer: Pacer,
  progress: TextBuildProgress,
): Promise<void> {
  let read = 0
  for await (const { column } of input.pieces()) {
    for (let row = 0; row < column.length; row++) {
      if (collected.rows === collected.lengths.length) return
      if (collected.tokens >= tokensMax || numbering.bytes >= termBytesMax) return
      read += 1 + collected.read(column, row)
      if (read < tokensAtOnce) continue
      read = 0
      await pacer.turn()
    }
    progress(collected.rows, 'reading')
  }
}

/** Encode terms as UTF-8. */
async function encodedTerms(terms: readonly string[], pacer: Pacer): Promise<ByteRows> {
  const offsets = new Int32Array(terms.length + 1)
  let bytes = Buffer.alloc(16 * terms.length)
  for (let i = 0; i < terms.length; i++) {
    const term = terms[i]!
    const at = offsets[i]!
    if (at + 3 * term.length > bytes.length) {
      const grown = Buffer.alloc(2 * (at + 3 * term.length))
      bytes.copy(grown)
      bytes = grown
    }
    offsets[i + 1] = at + bytes.write(term, at)
    if (i % termsAtOnce === 0) await pacer.turn()
  }
  return { bytes, offsets }
}

interface Written {
  readonly postings: PageWriter
  readonly positionPages: PageWriter
  readonly sections: TermSections
}

/** Write the postings of all terms in `order`. Calls `progress` with the number of postings written so far. */
async function writeTerms(
  { bytes, offsets }: ByteRows,
  order: Uint32Array,
  termDocs: Uint32Array,
  rows: TermRows,
  pacer: Pacer,
  progress: (done: number) => void,
): Promise<Written> {
  const postings = new PageWriter(true)
  const positionPages = new PageWriter(false)
  const encoder = new PostingsEncoder(rows, postings.page, positionPages.page)
  const terms = new TermsWriter(order.length, rows.positions !== null)
  let from = 0
  for (let i = 0; i < order.length; i++) {
    const number = order[i]!
    const docs = termDocs[number]!
    if (docs >= frequentDocs) postings.cut()
    const positionsAt = positionPages.length
    const at = postings.before + encoder.begin(from, from + docs)
    while (encoder.step()) await pacer.turn()
    from += docs
    terms.add(bytes.subarray(offsets[number]!, offsets[number + 1]!), docs, at, positionsAt)
    postings.cutIfFull()
    positionPages.cutIfFull()
    if (i % 64 === 0 && pacer.due()) {
      progress(from)
      await pacer.pause()
    }
  }
  postings.cut()
  positionPages.cut()
  return { postings, positionPages, sections: terms.take(postings.length, positionPages.length) }
}

function bytesOf({ buffer, byteOffset, byteLength }: Numbers): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
