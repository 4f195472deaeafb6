/**
 * Answers full-text searches of one version with objects, without a plan of the query. The answer is that of the same
 * request. The search reads data that is not in memory.
 */

import type { ReadOptions } from '../arrow/values.js'
import type { TableField } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, runTask, type Task, wait } from '../primitives/task.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import type { TableReader } from '../table/table-reader.js'
import { searchColumns, sliceHits } from './hits.js'
import { planTextSearch, type TextIndex } from './plan-text-search.js'
import { searchText } from './search-text.js'
import { RowSource } from './source.js'
import { type PlacedRow, type RowObject, StoredRows } from './stored-rows.js'

/** The parts of a request that decide which rows match. */
type TextRequest = Pick<QueryRequest, 'full_text_query' | 'fast_search' | 'require_index'>

/** The answers of searches in one version with the same columns. */
export class TextAnswers {
  readonly #reader: TableReader
  /** The position of the score among the columns of the answer. */
  readonly #scoreAt: number
  readonly #stored: StoredRows

  private constructor(reader: TableReader, fields: readonly TableField[], scoreAt: number) {
    this.#reader = reader
    this.#scoreAt = scoreAt
    this.#stored = new StoredRows(reader, fields)
  }

  /**
   * Return the answers with the columns `names` and the score; null: all columns. Return null if a name is not the exact
   * name of a column.
   */
  static of(reader: TableReader, names: readonly string[] | null): TextAnswers | null {
    const { fields } = reader.schema
    const score = searchColumns.score
    const own = names ?? fields.map(({ name }) => name)
    const all = own.includes(score) ? own : [...own, score]
    const stored = all
      .filter(name => name !== score)
      .map(wanted => fields.find(({ name }) => name === wanted))
    if (stored.includes(undefined) || fields.some(({ name }) => name === score)) return null
    return new TextAnswers(reader, stored as TableField[], all.indexOf(score))
  }

  /**
   * Return the best rows, without the first `offset` rows. `texts`: the text indexes that the search may use. Throws
   * what the request throws.
   */
  rows(
    request: TextRequest,
    texts: readonly TextIndex[],
    offset: number,
    limit: number,
    options: ReadOptions,
  ): MaybePromise<RowObject[]> {
    return runTask(this.#answer(request, texts, offset, limit, options))
  }

  *#answer(
    request: TextRequest,
    texts: readonly TextIndex[],
    offset: number,
    limit: number,
    options: ReadOptions,
  ): Task<RowObject[]> {
    const reader = this.#reader
    const stored = this.#stored
    const { analyzers, schema } = reader
    const search = planTextSearch(request, schema, texts, each => analyzers.open(each))!
    const pacer = new Pacer()
    const source = new RowSource(reader, pacer)
    const found = yield* wait(searchText(search, null, offset + limit, source, pacer))
    const { parts, partOf, offsets, computed } = sliceHits(found, offset, found.offsets.length)
    const placed: PlacedRow[] = []
    for (let i = 0; i < offsets.length; i++) {
      const { fragment, batch } = parts[partOf![i]!]!
      placed.push({ part: stored.partsOf(fragment)![batch]!, row: offsets[i]! })
    }
    const score = { name: searchColumns.score, at: this.#scoreAt, values: computed[0]!.values }
    return yield* wait(stored.rows(placed, options, score))
  }
}
