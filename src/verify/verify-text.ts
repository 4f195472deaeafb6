/**
 * Checks segments of text indexes against their columns: the index must find sampled rows by the terms of their texts.
 */
import { valueAt } from '../arrow/values.js'
import { corrupted, quote, SheafError } from '../errors.js'
import type { TextSegment } from '../indexes/text/segment.js'
import { findFieldById } from '../manifest/field-node.js'
import type { Fragment } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSet } from '../primitives/row-set.js'
import type { TableReader } from '../table/table-reader.js'
import type { TextIndexReader } from '../table/text-index.js'
import { columnPieces } from '../write/column-pieces.js'

/** Maximum number of sampled rows of a fragment. */
const sampledRows = 4
/** Maximum number of sampled terms of a row. */
const sampledTerms = 4

/**
 * Check the text segment at `path`. Throws Internal if the segment does not have a sampled term of a live row that
 * it covers. Does nothing if the analyzer of the segment is not available in this process.
 */
export async function verifyTexts(
  reader: TableReader,
  index: TextIndexReader,
  path: string,
  pacer: Pacer,
): Promise<void> {
  const segment = index.segments.find(each => each.path === path)
  if (segment === undefined) return
  const opened = await segment.open(pacer.signal)
  for (const fragment of segment.fragments) {
    for (const { row, terms } of await sampled(reader, index, segment.covered(fragment), fragment, pacer)) {
      const only = RowSet.of(fragment.rows, Uint32Array.of(row))
      const own = await segment.ordinalsOf(each => (each === fragment ? only : RowSet.none(each.rows)), pacer)
      // Searches in object storage read only the pages with their terms.
      const some = await segment.openFor({ terms, positions: false }, pacer.signal)
      for (const term of terms) {
        const ordinal = own.select(0)
        const isFound = await hasRow(opened, term, ordinal, pacer)
        if (isFound && (await hasRow(some, term, ordinal, pacer))) continue
        throw corrupted(
          `${path} does not find row ${row} of fragment ${fragment.id} by the term ${quote(term)} of its text`,
        )
      }
      await pacer.turn()
    }
  }
}

async function hasRow(segment: TextSegment, term: string, ordinal: number, pacer: Pacer): Promise<boolean> {
  const entry = segment.find(term)
  if (entry === null) return false
  const postings = await segment.postings(entry, false, pacer.signal)
  const cursor = postings.cursor()
  const block = partitionPoint(postings.blocks, i => cursor.last(i) < ordinal)
  if (block === postings.blocks) return false
  cursor.load(block)
  return cursor.docs.subarray(0, cursor.count).includes(ordinal)
}

/**
 * Return sampled live rows of a fragment with sampled terms. `covered`: rows that the segment covers. Returns an empty
 * array if the rows are not readable, which another check reports.
 */
async function sampled(
  reader: TableReader,
  index: TextIndexReader,
  covered: RowSet,
  fragment: Fragment,
  pacer: Pacer,
): Promise<readonly { readonly row: number; readonly terms: readonly string[] }[]> {
  try {
    const rows = covered.and(await reader.liveIn(fragment, pacer)).toIndices()
    const step = Math.max(1, Math.ceil(rows.length / sampledRows))
    const samples: { row: number; terms: readonly string[] }[] = []
    for (let i = 0; i < rows.length; i += step) {
      const row = rows[i]!
      samples.push({ row, terms: await termsAt(reader, index, fragment, row, pacer) })
    }
    return samples
  } catch (error) {
    if (error instanceof SheafError) return []
    throw error
  }
}

async function termsAt(
  reader: TableReader,
  index: TextIndexReader,
  fragment: Fragment,
  row: number,
  pacer: Pacer,
): Promise<readonly string[]> {
  const chain = findFieldById(reader.schema, index.field)!
  for await (const { values } of columnPieces(reader, chain, { fragment, from: row, to: row + 1 }, pacer)) {
    const value = valueAt(values, 0, { name: index.path.join('.') }) as
      | string
      | readonly (string | null)[]
      | null
    const texts = typeof value === 'string' ? [value] : (value ?? [])
    const terms = texts.flatMap(text => (text === null ? [] : index.analyzer().tokens(text)))
    return [...new Set(terms.map(({ term }) => term))].slice(0, sampledTerms)
  }
  return []
}
