/**
 * Defines a segment of a text index: an inverted index over an immutable set of rows. The segment numbers its rows from
 * 0 (ordinals). table/text-index maps ordinals to table rows and excludes deleted rows. The segment itself contains no
 * information about table rows or deleted rows.
 */
import type { Pacer } from '../../primitives/pacer.js'
import type { MaybePromise, Task, TaskStream } from '../../primitives/task.js'
import type { Postings } from './postings.js'

/** Statistics of a segment. */
export interface TextFacts {
  /** Number of rows with at least one term. */
  readonly docs: number
  /** Number of term occurrences in all rows. */
  readonly tokens: number
  /** Number of distinct terms. */
  readonly terms: number
  /** True if the segment stores positions. */
  readonly positions: boolean
  /** `Analyzer.identity` of the analyzer that built the segment. */
  readonly identity: string
}

/** A term of a segment. */
export interface TermEntry {
  /** Number of the term: its rank in the order of UTF-8 bytes. */
  readonly number: number
  readonly term: string
  /** Number of rows with the term, including deleted rows. */
  readonly docs: number
}

/** A condition for terms of a fuzzy search: the maximum edit distance from a word. */
export interface TermMatcher {
  /** Common prefix of all matching terms. */
  readonly prefix: string
  /** The least and the greatest number of code points of a matching term. */
  readonly shortest: number
  readonly longest: number
  /** Return the edit distance of a term from the word. Return null if the term does not match. */
  distance(term: string): number | null
}

/** A matching term and its edit distance from the word. */
export interface NearTerm {
  readonly entry: TermEntry
  readonly distance: number
}

/** An opened segment. */
export interface TextSegment {
  /** Number of rows. */
  readonly rows: number
  /** Bytes of memory that the segment takes, without postings. */
  readonly bytes: number
  readonly facts: TextFacts
  /** Number of term occurrences in each row. */
  readonly lengths: Uint8Array | Uint16Array | Uint32Array
  /** Return the entry of a term. Return null if no row has the term. */
  find(term: string): TermEntry | null
  /**
   * Return postings that together have the rows of all terms that begin with a prefix. A row with several of these terms
   * may be in several postings, with a part of its frequency in each. Errors are as for `postings`.
   */
  begun(prefix: string, pacer: Pacer): TaskStream<Postings>
  /** Return all matching terms. */
  near(matcher: TermMatcher, pacer: Pacer): Task<readonly NearTerm[]>
  /**
   * Return the postings of a term. `positions`: whether to read positions too; allowed only if `facts.positions`.
   * Throws Internal if a page is damaged.
   */
  postings(entry: TermEntry, positions: boolean, signal: AbortSignal | undefined): MaybePromise<Postings>
}
