/** Builds a temporary segment in memory over unindexed rows. One query uses the segment. */
import { type Column, isValid } from '../../../arrow/column.js'
import { assert } from '../../../errors.js'
import type { Pacer } from '../../../primitives/pacer.js'
import type { MaybePromise, Task, TaskStream } from '../../../primitives/task.js'
import { orderOfTexts } from '../../../sql/values/scalar-order.js'
import type { Analyzer, TermNumbering } from '../analysis/analyzer.js'
import { encodePostings, type TermRows } from '../encode-postings.js'
import { elementGap, storedPosition } from '../input.js'
import { Postings, type TermBytes } from '../postings.js'
import type { NearTerm, TermEntry, TermMatcher, TextFacts, TextSegment } from '../segment.js'

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

/** The terms that a scanned segment contains. */
export interface ScannedTerms {
  /** Return whether the segment contains a term. Called once per distinct term. */
  readonly accept: (term: string) => boolean
  /** The prefixes that `TextSegment.begun` may be called with. */
  readonly prefixes: readonly string[]
  /** Whether to store positions. */
  readonly positions: boolean
}

/**
 * Build a segment over texts. `texts`: columns of rows; the scan waits for each promise before it continues. Ordinals
 * number the rows in reading order. The segment contains only the wanted terms. The facts and the lengths of the segment
 * count all terms.
 */
export function* scannedSegment(
  texts: Iterable<ScannedTexts | Promise<unknown>>,
  analyzer: Analyzer,
  wanted: ScannedTerms,
  pacer: Pacer,
): Task<TextSegment> {
  const numbering = learned.get(analyzer) ?? analyzer.numbering()
  // Remove the numbering from the cache, because two scans must not use it at the same time.
  learned.delete(analyzer)
  const scan = new Scan(numbering, wanted)
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
  readonly #wanted: ScannedTerms
  /**
   * By term number: the index in `#targets` plus 1, or 0 if `accept` was not called yet, or -1 if the term is not
   * wanted.
   */
  #indexes = new Int32Array(1024)
  readonly #targets: Target[] = []
  readonly #terms: GrowingTerm[] = []
  /** The rows of all terms that begin with a prefix, in the order of `ScannedTerms.prefixes`. */
  readonly #begun: readonly GrowingTerm[]
  /** For terms that are wanted only by their prefixes: the index in `#targets` plus 1, by the numbers of the prefixes. */
  readonly #indexesOfPrefixes = new Map<string, number>()
  readonly #lengths = new Numbers()
  #docs = 0
  #tokens = 0
  /** Number of terms of the current row so far, and the position at which its next text begins. */
  #length = 0
  #base = 0

  constructor(numbering: TermNumbering, wanted: ScannedTerms) {
    this.#numbering = numbering
    this.#wanted = wanted
    this.#begun = wanted.prefixes.map(prefix => new GrowingTerm(prefix, false))
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
      positions: this.#wanted.positions,
      identity,
    }
    const terms = this.#terms.sort((a, b) => orderOfTexts(a.term, b.term))
    const entries: TermEntry[] = []
    const postings: Postings[] = []
    let bytes = lengths.byteLength
    const owner = { name: 'unindexed rows', lengths }
    function* encoded(term: GrowingTerm): Task<Postings> {
      const rows = term.taken(lengths)
      const { postings, positions } = yield* encodePostings(rows, pacer)
      bytes += postings.length + (positions?.length ?? 0)
      if (pacer.due()) yield pacer.pause()
      const places = positions === null ? null : whole(positions)
      return new Postings(rows.ordinals.length, whole(postings), places, owner)
    }
    for (const [number, term] of terms.entries()) {
      const own = yield* encoded(term)
      entries.push({ number, term: term.term, docs: own.docs })
      postings.push(own)
    }
    const begun = new Map<string, Postings>()
    for (const prefix of this.#begun) if (!prefix.isEmpty) begun.set(prefix.term, yield* encoded(prefix))
    return new ScannedSegment(facts, lengths, entries, postings, begun, bytes)
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
      if (index > 0) this.#targets[index - 1]!.add(ordinal, storedPosition(this.#base, positions[i]!))
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
    const index = this.#indexOf(term)
    this.#indexes[number] = index
    return index
  }

  /** Return the index of a new term in `#targets`, plus 1; -1: the term is not wanted. */
  #indexOf(term: string): number {
    const { accept, prefixes, positions } = this.#wanted
    const own = accept(term) ? new GrowingTerm(term, positions) : null
    if (own !== null) this.#terms.push(own)
    if (prefixes.length === 0) return own === null ? -1 : this.#targets.push(own)
    const begun: number[] = []
    for (let i = 0; i < prefixes.length; i++) if (term.startsWith(prefixes[i]!)) begun.push(i)
    const targets: Target[] = begun.map(i => this.#begun[i]!)
    if (own !== null) return this.#targets.push(targetOf([own, ...targets]))
    if (targets.length === 0) return -1
    const key = begun.join()
    let index = this.#indexesOfPrefixes.get(key)
    if (index === undefined) {
      index = this.#targets.push(targetOf(targets))
      this.#indexesOfPrefixes.set(key, index)
    }
    return index
  }
}

function whole(bytes: Uint8Array): TermBytes {
  return { bytes, at: 0, end: bytes.length }
}

/** Gets each occurrence of a term, in the order of rows and positions. */
interface Target {
  add(row: number, position: number): void
}

function targetOf(targets: readonly Target[]): Target {
  if (targets.length === 1) return targets[0]!
  const add = (row: number, position: number) => {
    for (let i = 0; i < targets.length; i++) targets[i]!.add(row, position)
  }
  return { add }
}

/** A term, or all terms that begin with a prefix, and the rows in which the scan found it so far. */
class GrowingTerm implements Target {
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

  get isEmpty(): boolean {
    return this.#rows.count === 0
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
  readonly #begun: ReadonlyMap<string, Postings>
  /** Postings by term number. */
  readonly #postings: readonly Postings[]

  constructor(
    facts: TextFacts,
    lengths: Uint32Array,
    entries: readonly TermEntry[],
    postings: readonly Postings[],
    begun: ReadonlyMap<string, Postings>,
    bytes: number,
  ) {
    this.rows = lengths.length
    this.facts = facts
    this.lengths = lengths
    this.#begun = begun
    this.#entries = new Map(entries.map(entry => [entry.term, entry]))
    this.#postings = postings
    this.bytes = bytes
  }

  find(term: string): TermEntry | null {
    return this.#entries.get(term) ?? null
  }

  *begun(prefix: string): TaskStream<Postings> {
    const postings = this.#begun.get(prefix)
    if (postings !== undefined) yield postings
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
