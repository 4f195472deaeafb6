/**
 * A segment of a text index: an inverted index over an immutable set of rows. The segment numbers its rows from 0 (ordinals).
 * table/text-index maps ordinals to table rows and excludes deleted rows; the segment knows neither.
 */
import type { Pacer } from '../../primitives/pacer.js'
import type { MaybePromise, Task } from '../../primitives/task.js'

/** Statistics of a segment. */
export interface TextFacts {
  /** Number of rows with at least one term. */
  readonly docs: number
  /** Number of term occurrences in all rows. */
  readonly tokens: number
  /** Number of distinct terms. */
  readonly terms: number
  /** Whether the segment stores positions. */
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

/** A condition on the code points of a term, such as an edit distance from a word. */
export interface TermMatcher {
  /** Common prefix of all matching terms. */
  readonly prefix: string
  /** Return the edit distance of a term from the word; null: the term does not match. */
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
  /** Bytes of memory, without postings. */
  readonly bytes: number
  readonly facts: TextFacts
  /** Number of term occurrences in each row. */
  readonly lengths: Uint8Array | Uint16Array | Uint32Array
  /** Return the entry of a term; null if no row has the term. */
  find(term: string): TermEntry | null
  /** Return all matching terms. */
  near(matcher: TermMatcher, pacer: Pacer): Task<readonly NearTerm[]>
  /**
   * Return the postings of a term. `positions`: whether to read positions too; allowed only if `facts.positions`.
   * Throws Internal if a page is damaged.
   */
  postings(entry: TermEntry, positions: boolean, signal: AbortSignal | undefined): MaybePromise<Postings>
}

/** Rows per full block of postings. */
export const blockDocs = 128

/** The rows with a term, ascending, in blocks of `blockDocs` rows. The last block has the remaining rows. */
export interface Postings {
  readonly docs: number
  readonly blocks: number
  /** Last row of each block. */
  readonly last: Uint32Array
  /** For each block: the highest frequency of the term in a row, and the length of its shortest row in terms. */
  readonly mostFrequent: Uint32Array
  readonly shortest: Uint32Array
  /** Open a cursor. `buffer`: reserved for the cursor while it is in use; default: a new buffer. */
  cursor(buffer?: BlockBuffer): PostingCursor
}

/** Arrays into which a cursor unpacks a block: `blockDocs` numbers each. */
export interface BlockBuffer {
  readonly docs: Uint32Array
  readonly frequencies: Uint32Array
}

export function newBlockBuffer(): BlockBuffer {
  return { docs: new Uint32Array(blockDocs), frequencies: new Uint32Array(blockDocs) }
}

/** Reads postings, one block at a time. */
export interface PostingCursor {
  /** The loaded block; -1 before the first `load`. */
  readonly block: number
  /** Number of rows of the block. */
  readonly count: number
  /**
   * Ordinals of the block's rows, and the frequency of the term in each row. Only the first `count` numbers are defined. Get both
   * properties again after each `load`: frequencies are unpacked at the first access, because unpacking them is almost half of the work.
   */
  readonly docs: Uint32Array
  readonly frequencies: Uint32Array
  load(block: number): void
  /**
   * Return the positions of the term in row `i` of the block, ascending. Only the first `frequencies[i]` numbers are defined, until the
   * next call. Fastest for ascending `i`. Requires postings that were read with positions.
   */
  positions(i: number): Uint32Array
}
