/** An immutable builder of a merge. The methods `execute` and `upload` run the merge. */
import { invalidInput } from '../errors.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callFields, callShape, type Operations, type Request } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import { options as declare, given, optionFields } from '../protocol/shape.js'
import type { SqlFragment } from '../sql/syntax/sql-fragment.js'
import { conditionShape, filterFields } from './filter-fields.js'
import type { TableData } from './table-data.js'
import { type RowsOf, TableUpload } from './table-upload.js'

type MergeRequest = Request<'mergeInsertIntoTable'>

/** Options of `whenMatchedUpdateAll` and `whenNotMatchedBySourceDelete`. */
export interface MergeCondition {
  /**
   * An SQL predicate, or a fragment made by the tag `sql`. Only rows for which it is true are updated or deleted. For
   * updates, it reads the new row as `source.x` and the row of the table as `target.x`. For deletes, it reads the
   * columns of the table. Default: all rows.
   */
  readonly where?: string | SqlFragment
}

/** Options of `MergeInsert.execute`. */
export interface MergeOptions extends CallOptions {
  /** Time limit in milliseconds, after which the merge fails. Default: no limit. */
  readonly timeoutMs?: number
}

export const mergeConditionShape = declare<MergeCondition>()({ where: conditionShape })

export const mergeFields = optionFields<MergeOptions>()({
  timeoutMs: given<number>(
    'a number of milliseconds > 0',
    value => Number.isFinite(value) && Number(value) > 0,
  ),
  ...callFields,
})

export const mergeShape = declare<MergeOptions>()(mergeFields)

/** The new version, and the numbers of rows that a merge updated, inserted and deleted. */
export interface MergeResult {
  readonly version: number
  readonly updated: number
  readonly inserted: number
  readonly deleted: number
}

/**
 * A merge of rows into a table, by key. The object is immutable: methods such as `whenMatchedUpdateAll` return a new
 * merge. The rows to merge are called source rows. This merge is an upsert:
 *
 * ```js
 * await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows)
 * ```
 */
export class MergeInsert {
  readonly #operations: Operations
  readonly #request: MergeRequest
  readonly #rowsOf: RowsOf

  /** `rowsOf`: see `RowsOf`. */
  constructor(operations: Operations, request: MergeRequest, rowsOf: RowsOf) {
    this.#operations = operations
    this.#request = request
    this.#rowsOf = rowsOf
  }

  /**
   * Update each row of the table that has the same key as a source row. Columns that the source does not have stay
   * unchanged.
   */
  whenMatchedUpdateAll(condition: MergeCondition = {}): MergeInsert {
    const { filter, ...values } = this.#where('whenMatchedUpdateAll', condition)
    return this.#with({
      when_matched_update_all: true,
      ...(filter !== undefined && { when_matched_update_all_filt: filter }),
      ...values,
    })
  }

  /** Insert each source row whose key no row of the table has. */
  whenNotMatchedInsertAll(): MergeInsert {
    return this.#with({ when_not_matched_insert_all: true })
  }

  /** Delete each row of the table whose key no source row has. */
  whenNotMatchedBySourceDelete(condition: MergeCondition = {}): MergeInsert {
    const { filter, ...values } = this.#where('whenNotMatchedBySourceDelete', condition)
    return this.#with({
      when_not_matched_by_source_delete: true,
      ...(filter !== undefined && { when_not_matched_by_source_delete_filt: filter }),
      ...values,
    })
  }

  /**
   * Merge the source rows `data` in one commit. A key that contains NULL matches no row.
   *
   * Throws:
   * - `ColumnNotFound` for unknown columns;
   * - `InvalidInput` if the merge updates, and two source rows have the key of a row of the table. Rows with the same new
   *   key are all inserted, as in LanceDB;
   * - `SchemaValidation` for rows that do not fit the table;
   * - `ServiceUnavailable` after `timeoutMs` milliseconds.
   */
  async execute(data: TableData, options: MergeOptions = {}): Promise<MergeResult> {
    const { timeoutMs, ...call } = parse(mergeShape, options, 'execute')
    this.#refuseNothing()
    const timeout = timeoutMs === undefined ? {} : { timeout: `${Math.ceil(timeoutMs)}ms` }
    const rows = await this.#rowsOf(data, call)
    const merged = this.#operations.mergeInsertIntoTable({ ...this.#request, ...timeout }, rows, call)
    const reply = await merged.finally(() => rows.close())
    const {
      version,
      num_updated_rows: updated,
      num_inserted_rows: inserted,
      num_deleted_rows: deleted,
    } = reply
    return { version, updated, inserted, deleted }
  }

  #where(call: string, condition: MergeCondition): Partial<ReturnType<typeof filterFields>> {
    const { where } = parse(mergeConditionShape, condition, call)
    return where === undefined ? {} : filterFields(call, where, undefined, this.#request.parameters)
  }

  /**
   * Begin an upload in parts (`Table.upload`) whose commit merges the rows. All parts must have the same columns. The
   * commit needs memory for all rows. Throws the errors of `execute` for columns and conditions. Only the commit checks
   * for source rows with the same key.
   */
  async upload(options: CallOptions = {}): Promise<TableUpload> {
    const call = parse(callShape, options, 'upload')
    this.#refuseNothing()
    const { upload_id } = await this.#operations.createTableUpload({ ...this.#request, mode: 'Merge' }, call)
    return new TableUpload(this.#operations, this.#request.id, upload_id, this.#rowsOf)
  }

  #refuseNothing(): void {
    const { when_matched_update_all: updates, when_not_matched_insert_all: inserts } = this.#request
    if (updates || inserts || this.#request.when_not_matched_by_source_delete) return
    throw invalidInput(
      'mergeInsert: the merge has no effect, because it neither updates, inserts nor deletes rows',
      {
        hint: 'call at least one of whenMatchedUpdateAll(), whenNotMatchedInsertAll(), whenNotMatchedBySourceDelete()',
      },
    )
  }

  #with(more: Partial<MergeRequest>): MergeInsert {
    return new MergeInsert(this.#operations, { ...this.#request, ...more }, this.#rowsOf)
  }
}

takeNoMore(MergeInsert.prototype, {
  whenMatchedUpdateAll: 1,
  whenNotMatchedInsertAll: 0,
  whenNotMatchedBySourceDelete: 1,
  execute: 2,
  upload: 1,
})
