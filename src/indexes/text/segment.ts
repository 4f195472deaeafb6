/**
 * A segment of a text index: an immutable set of rows, which are numbered from 0 (ordinals), with the rows that have each term. What
 * table rows these are, and which of them are alive, is for others to know (table/text-index).
 */
import type { Pacer } from '../../primitives/pacer.js'
import type { MaybePromise, Task } from '../../primitives/task.js'

/** What is known of a segment since it was built. */
export interface TextFacts {
  /** Rows that have at least one term. */
  readonly docs: number
  /** Terms of all rows together, each as often as it occurs. */
  readonly tokens: number
  /** Distinct terms. */
  readonly terms: number
  readonly positions: boolean
  /** `Analyzer.identity` of what it was built with. */
  readonly identity: string
}

/** A term of a segment. */
export interface TermEntry {
  /** By which the segment knows it: its place among all in the order of their UTF-8 bytes. */
  readonly number: number
  readonly term: string
  /** Rows that have it, dead ones too. */
  readonly docs: number
}

/** Terms that are told apart from others by their code points, like those near to a word. */
export interface TermMatcher {
  /** What all that match begin with. */
  readonly prefix: string
  /** Edits that lead from the word to this term; null: it does not match. */
  distance(term: string): number | null
}

export interface NearTerm {
  readonly entry: TermEntry
  readonly distance: number
}

export interface TextSegment {
  /** How many rows it numbers. */
  readonly rows: number
  /** Memory it keeps for itself, postings left out. */
  readonly bytes: number
  readonly facts: TextFacts
  /** Terms of each row, as often as they occur; 0: it has none. */
  readonly lengths: Uint8Array | Uint16Array | Uint32Array
  /** Null: no row has it. */
  find(term: string): TermEntry | null
  /** All terms that match. */
  near(matcher: TermMatcher, pacer: Pacer): Task<readonly NearTerm[]>
  /** The rows that have a term. `positions`: whether cursors can tell them, which takes more to be read; only where `facts.positions`. */
  postings(entry: TermEntry, positions: boolean, signal: AbortSignal | undefined): MaybePromise<Postings>
}

/** Rows of a full block of postings. */
export const blockDocs = 128

/** The rows that have a term, ascending, in blocks of `blockDocs`, the last with what is left. */
export interface Postings {
  readonly docs: number
  readonly blocks: number
  /** By block: its last row, */
  readonly last: Uint32Array
  /** how often one of its rows has the term at most, and how few terms one of them has in all. */
  readonly mostFrequent: Uint32Array
  readonly shortest: Uint32Array
  /** `room`: the cursor's own until nobody uses it any more; default: new. */
  cursor(room?: BlockRoom): PostingCursor
}

/** Where a cursor unpacks a block: `blockDocs` numbers each. */
export interface BlockRoom {
  readonly docs: Uint32Array
  readonly frequencies: Uint32Array
}

export function newBlockRoom(): BlockRoom {
  return { docs: new Uint32Array(blockDocs), frequencies: new Uint32Array(blockDocs) }
}

/** One block at a time. */
export interface PostingCursor {
  /** Which block it has; -1: none yet. */
  readonly block: number
  /** Rows of the block. */
  readonly count: number
  /**
   * The first `count`: ordinals, and how often each has the term. What is behind them means nothing. To be asked for anew after each
   * `load`: frequencies are unpacked when somebody wants them, which is near half of the work.
   */
  readonly docs: Uint32Array
  readonly frequencies: Uint32Array
  load(block: number): void
  /**
   * Positions of the term in row `i` of the block, ascending: the first `frequencies[i]` numbers, until the next call; what is
   * behind them means nothing. Cheapest for ascending `i`. Only of
   * postings that were asked for with positions.
   */
  positions(i: number): Uint32Array
}
