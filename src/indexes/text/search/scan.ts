/** Builds a temporary segment in memory over unindexed rows. One query uses the segment. */
import { type Column, isValid } from '../../../arrow/column.js'
import { assert } from '../../../errors.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { MaybePromise, Task } from '../../../primitives/task.js'
import { orderOfTexts } from '../../../sql/values/scalar-order.js'
import type { Analyzer, TermNumbering } from '../analysis/analyzer.js'
import { encodePostings, type TermRows } from '../encode-postings.js'
import { elementGap, storedPosition } from '../input.js'
import { openPostings, type TermBytes } from '../postings.js'
import type { NearTerm, Postings, TermEntry, TermMatcher, TextFacts, TextSegment } from '../segment.js'

/** Rows of a column of texts or lists of texts, with or without dictionary. */
export interface ScannedTexts {
  readonly column: Column
  /** The rows to read. Null: all rows. */
  readonly rows: Uint32Array | null
}

/**
 * Bytes of text read between two checks of the clock. A row counts as `rowBytes` more bytes, a new term as `termBytes`.
 */
const bytesAtOnce = 16 * 1024
const rowBytes = 16
const termBytes = 256

/**
 * Build a segment over texts. `texts`: columns of rows; the scan waits for each promise before it continues. Ordinals
 * number the rows in reading order. The segment contains only the terms for which `accept` returns true. `accept` is
 * called once per distinct term. The facts and the lengths of the segment count all terms.
 */
export function* scannedSegment(
  texts: Iterable<ScannedTexts | Promise<unknown>>,
  analyzer: Analyzer,
  accept: (term: string) => boolean,
  positions: boolean,
  pacer: Pacer,
): Task<TextSegment> {
  const numbering = learned.get(analyzer) ?? analyzer.numbering()
  // Remove the numbering from the cache, because two scans must not use it at the same time.
  learned.delete(analyzer)
  const scan = new Scan(numbering, accept, positions)
  let read = 0
  for (const each of texts) {
    if (each instanceof Promise) {
      yield each
      continue
    }
    const { column, rows } = each
    const count = rows === null ? column.length : rows.length
    for (let i = 0; i < count; i++) {
      const { distinct } = scan
      read += rowBytes + scan.row(column, rows === null ? i : rows[i]!)
      read += termBytes * (scan.distinct - distinct)
      if (read < bytesAtOnce) continue
      read = 0
      if (pacer.due()) yield pacer.pause()
    }
  }
  const segment = yield* scan.segment(analyzer.identity, pacer)
  if (numbering.bytes <= mostLearned) learned.set(analyzer, numbering)
  return segment
}

/**
 * Term numberings of earlier scans, by analyzer. While rows are unindexed, every query reads the same texts again. The
 * numbering already knows the words of these texts, and analyzing new words takes most of the time of a scan.
 */
const learned = new WeakMap<Analyzer, TermNumbering>()
/** Maximum bytes of a numbering that is kept. */
const mostLearned = 2 * 1024 * 1024

class Scan {
  /** Number of distinct terms. `accept` was called once for each. */
  distinct = 0
  readonly #numbering: TermNumbering
  readonly #accept: (term: string) => boolean
  readonly #positions: boolean
  /**
   * By term number: the index in `#terms` plus 1, or 0 if `accept` was not called yet, or -1 if the term is not
   * accepted.
   */
  #indexes = new Int32Array(1024)
  readonly #terms: GrowingTerm[] = []
  readonly #lengths = new Numbers()
  #docs = 0
  #tokens = 0
  /** Number of terms of the current row so far, and the position at which its next text begins. */
  #length = 0
  #base = 0

  constructor(numbering: TermNumbering, accept: (term: string) => boolean, positions: boolean) {
    this.#numbering = numbering
    this.#accept = accept
    this.#positions = positions
  }

  /** Read the next row. Return its size in bytes. */
  row(column: Column, index: number): number {
    this.#length = 0
    this.#base = 0
    const bytes = this.#read(column, index)
    this.#lengths.push(this.#length)
    this.#tokens += this.#length
    if (this.#length > 0) this.#docs++
    return bytes
  }

  *segment(identity: string, pacer: Pacer): Task<TextSegment> {
    const lengths = this.#lengths.taken()
    const facts = {
      docs: this.#docs,
      tokens: this.#tokens,
      terms: this.distinct,
      positions: this.#positions,
      identity,
    }
    const terms = this.#terms.sort((a, b) => orderOfTexts(a.term, b.term))
    const entries: TermEntry[] = []
    const postings: Postings[] = []
    let bytes = lengths.byteLength
    for (const [number, term] of terms.entries()) {
      const rows = term.taken(lengths)
      const docs = rows.ordinals.length
      const encoded = yield* encodePostings(rows, pacer)
      const positions = encoded.positions === null ? null : whole(encoded.positions)
      entries.push({ number, term: term.term, docs })
      postings.push(openPostings(docs, whole(encoded.postings), positions, lengths))
      bytes += encoded.postings.length + (encoded.positions?.length ?? 0)
      if (pacer.due()) yield pacer.pause()
    }
    return new ScannedSegment(facts, lengths, entries, postings, bytes)
  }

  #read(column: Column, index: number): number {
    if (!isValid(column, index)) return 0
    const { type, offsets, values } = column
    if (type.kind === 'utf8') return this.#text(values as Uint8Array, offsets![index]!, offsets![index + 1]!)
    if (type.kind === 'dictionary') return this.#read(column.dictionary!, Number(values![index]))
    assert(type.kind === 'list', `a text search of a column of ${type.kind}`)
    let bytes = 0
    for (let i = offsets![index]!; i < offsets![index + 1]!; i++) {
      bytes += this.#read(column.children[0]!, i)
      this.#base += elementGap
    }
    return bytes
  }

  #text(bytes: Uint8Array, from: number, to: number): number {
    const numbering = this.#numbering
    const count = numbering.read(bytes, from, to)
    const { numbers, positions } = numbering
    const ordinal = this.#lengths.count
    for (let i = 0; i < count; i++) {
      const number = numbers[i]!
      const index = (number < this.#indexes.length ? this.#indexes[number]! : 0) || this.#register(number)
      if (index > 0) this.#terms[index - 1]!.add(ordinal, storedPosition(this.#base, positions[i]!))
    }
    this.#length += count
    if (count > 0) this.#base += positions[count - 1]! + 1
    return to - from
  }

  #register(number: number): number {
    this.distinct++
    if (number >= this.#indexes.length) {
      const longer = new Int32Array(2 * number)
      longer.set(this.#indexes)
      this.#indexes = longer
    }
    const term = this.#numbering.terms[number]!
    const index = this.#accept(term) ? this.#terms.push(new GrowingTerm(term, this.#positions)) : -1
    this.#indexes[number] = index
    return index
  }
}

function whole(bytes: Uint8Array): TermBytes {
  return { bytes, at: 0, end: bytes.length }
}

/** A term and the rows in which the scan found it so far. */
class GrowingTerm {
  readonly term: string
  readonly #rows = new Numbers()
  readonly #frequencies = new Numbers()
  readonly #positions: Numbers | null

  constructor(term: string, positions: boolean) {
    this.term = term
    this.#positions = positions ? new Numbers() : null
  }

  add(row: number, position: number): void {
    const rows = this.#rows
    const frequencies = this.#frequencies
    const last = rows.count - 1
    if (last >= 0 && rows.values[last] === row) frequencies.values[last]!++
    else {
      rows.push(row)
      frequencies.push(1)
    }
    this.#positions?.push(position)
  }

  taken(lengths: Uint32Array): TermRows {
    return {
      ordinals: this.#rows.taken(),
      frequencies: this.#frequencies.taken(),
      positions: this.#positions?.taken() ?? null,
      lengths,
    }
  }
}

class ScannedSegment implements TextSegment {
  readonly rows: number
  readonly bytes: number
  readonly facts: TextFacts
  readonly lengths: Uint32Array
  readonly #entries: ReadonlyMap<string, TermEntry>
  /** Postings by term number. */
  readonly #postings: readonly Postings[]

  constructor(
    facts: TextFacts,
    lengths: Uint32Array,
    entries: readonly TermEntry[],
    postings: readonly Postings[],
    bytes: number,
  ) {
    this.rows = lengths.length
    this.facts = facts
    this.lengths = lengths
    this.#entries = new Map(entries.map(entry => [entry.term, entry]))
    this.#postings = postings
    this.bytes = bytes
  }

  find(term: string): TermEntry | null {
    return this.#entries.get(term) ?? null
  }

  *near(matcher: TermMatcher, pacer: Pacer): Task<readonly NearTerm[]> {
    const found: NearTerm[] = []
    let seen = 0
    for (const entry of this.#entries.values()) {
      const distance = matcher.distance(entry.term)
      if (distance !== null) found.push({ entry, distance })
      if (++seen % 4096 === 0 && pacer.due()) yield pacer.pause()
    }
    return found
  }

  postings(entry: TermEntry): MaybePromise<Postings> {
    return this.#postings[entry.number]!
  }
}

/** A growing array of u32s. */
class Numbers {
  values = new Uint32Array(16)
  count = 0

  push(value: number): void {
    if (this.count === this.values.length) {
      const longer = new Uint32Array(2 * this.count)
      longer.set(this.values)
      this.values = longer
    }
    this.values[this.count++] = value
  }

  taken(): Uint32Array {
    return this.values.slice(0, this.count)
  }
}
