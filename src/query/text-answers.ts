/**
 * Answers full-text searches of one version with objects, without a plan of the query. The answer is that of the same
 * request. The search reads data that is not in memory.
 */

import type { Column } from '../arrow/column.js'
import { batchToRows, type ReadOptions, setOwn } from '../arrow/values.js'
import type { TableField } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, runTask, type Task, wait } from '../primitives/task.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import type { TableReader } from '../table/table-reader.js'
import { type RowHits, searchColumns, sliceHits } from './hits.js'
import { planTextSearch, type TextIndex } from './plan-text-search.js'
import { type RowObject, RowsInMemory } from './rows-in-memory.js'
import { searchText } from './search-text.js'
import { RowSource } from './source.js'

/** The parts of a request that decide which rows match. */
type TextRequest = Pick<QueryRequest, 'full_text_query' | 'fast_search' | 'require_index'>

/** The answers of searches in one version with the same columns. */
export class TextAnswers {
  readonly #reader: TableReader
  /** The columns of the answer. */
  readonly #names: readonly string[]
  /** The position of the score in `#names`. */
  readonly #scoreAt: number
  readonly #stored: RowsInMemory

  private constructor(reader: TableReader, names: readonly string[], fields: readonly TableField[]) {
    this.#reader = reader
    this.#names = names
    this.#scoreAt = names.indexOf(searchColumns.score)
    this.#stored = new RowsInMemory(reader, fields)
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
    return new TextAnswers(reader, all, stored as TableField[])
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
    const { analyzers, schema } = reader
    const search = planTextSearch(request, schema, texts, each => analyzers.open(each))!
    const pacer = new Pacer()
    const source = new RowSource(reader, pacer)
    const found = yield* wait(searchText(search, null, offset + limit, source, pacer))
    const hits = sliceHits(found, offset, found.offsets.length)
    const rows = this.#rowsOf(hits, options)
    if (rows !== null) return rows
    return batchToRows(yield* wait(source.batch(hits, this.#names, true)), options)
  }

  /** Return the rows as objects. Null: a column is not in memory. */
  #rowsOf({ parts, partOf, offsets, computed }: RowHits, options: ReadOptions): RowObject[] | null {
    const stored = this.#stored
    stored.setOptions(options)
    const scoreAt = this.#scoreAt
    const scores = computed[0]!.values
    const columnsOf: (readonly Column[])[] = []
    const rows: RowObject[] = []
    for (let i = 0; i < offsets.length; i++) {
      const number = partOf![i]!
      let columns = columnsOf[number]
      if (columns === undefined) {
        const { fragment, batch } = parts[number]!
        const part = stored.partsOf(fragment)?.[batch]
        const known = part && stored.columnsOf(part)
        if (known == null) return null
        columns = known
        columnsOf[number] = known
      }
      const row: RowObject = {}
      for (let column = 0; column <= columns.length; column++) {
        if (column === scoreAt) setOwn(row, searchColumns.score, scores[i])
        else stored.read(row, columns, column < scoreAt ? column : column - 1, offsets[i]!)
      }
      rows.push(row)
    }
    return rows
  }
}
