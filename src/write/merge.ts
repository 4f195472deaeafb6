/**
 * Merges rows into a table by key, like MERGE of SQL. The rows of the caller are the source, the table is the target.
 * The rules of a merge say what happens to each kind of row:
 *
 * - Rows of the table whose key the source has may be replaced.
 * - Rows of the source whose key the table does not have may be inserted.
 * - Rows of the table whose key the source does not have may be deleted.
 */

import type { Batch, Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import type { Field, Schema } from '../arrow/types.js'
import { arrowSchema, type TableSchema } from '../manifest/table-schema.js'
import { Bitset } from '../primitives/bitset.js'
import { inBackticks } from '../primitives/in-backticks.js'
import { joinNumbers } from '../primitives/join-numbers.js'
import type { Pacer } from '../primitives/pacer.js'
import { noComputedColumns, type RowHits } from '../query/hits.js'
import { RowSource, rowOffsetField, sourceSchema } from '../query/source.js'
import { bindFilter } from '../sql/binding/bind.js'
import type { ParameterList } from '../sql/binding/parameters.js'
import type { Bound } from '../sql/bound.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { selectRows } from '../sql/evaluate.js'
import type { TableReader } from '../table/table-reader.js'
import type { MovedDraft } from './build-change.js'
import { conformBatches } from './conform.js'
import type { MaintainedColumns } from './maintained.js'
import { countIn, MatchedRows, type Narrow, type RowSet } from './matched-rows.js'
import type { MergeSource } from './merge-source.js'
import { type NewValues, RewrittenRows } from './rewrite-rows.js'
import { type Draft, type StageTarget, stageRows } from './stage.js'
import { type StagedDeletions, stageDeletions } from './stage-deletions.js'

/** The rules of a merge: which rows are replaced, inserted and deleted. */
export interface MergeRules {
  /** Whether to replace matching rows. */
  readonly update: boolean
  /** SQL condition over `source.x` and `target.x` for the rows to replace. Undefined: all matching rows. */
  readonly updateIf: string | undefined
  /** Whether to insert rows whose keys the table does not have. */
  readonly insert: boolean
  /** Whether to delete rows of the table whose keys the source does not have. */
  readonly remove: boolean
  /** SQL condition over the columns of the table for the rows to delete. Undefined: all rows without a match. */
  readonly removeIf: string | undefined
  /** Parameters of the two conditions. */
  readonly parameters: ParameterList
}

/** The staged effect of a merge on one version, and the numbers of affected rows. */
interface Merged {
  readonly deletions: StagedDeletions
  readonly moved: readonly MovedDraft[]
  readonly drafts: readonly Draft[]
  readonly updated: number
  readonly inserted: number
  readonly deleted: number
}

/**
 * Bind the conditions of a merge. `brought`: schema of the source. `schema`: schema of the table. Throws
 * `ColumnNotFound`, `InvalidInput` or `SchemaValidation` for a condition that cannot be bound.
 */
export function mergeConditions(
  { updateIf, removeIf, parameters }: MergeRules,
  brought: Schema,
  schema: TableSchema,
): { readonly updateIf: BoundExpression | null; readonly removeIf: BoundExpression | null } {
  const bound = {
    updateIf:
      updateIf === undefined ? null : bindFilter(updateIf, pairSchema(brought, schema), { parameters }),
    removeIf: removeIf === undefined ? null : bindFilter(removeIf, sourceSchema(schema), { parameters }),
  }
  parameters.checkUsed()
  return bound
}

/** A merge. The caller calls `prepare` for each attempt to commit, on the newest version. */
export class RowMerge {
  readonly #source: MergeSource
  readonly #rules: MergeRules
  readonly #maintained: MaintainedColumns
  readonly #matched = new MatchedRows()
  readonly #replaced = new MatchedRows()
  readonly #removed = new MatchedRows()
  readonly #rewritten = new RewrittenRows()
  /** Condition that is true for all rows whose keys the source has, and maybe for more rows. Null: no condition. */
  readonly #among: BoundExpression | null
  readonly #updateIf: BoundExpression | null
  readonly #removeIf: BoundExpression | null
  /** The inserted rows of the last attempt. `met`: source rows that match a row of the table, and were not inserted. */
  #inserted: { readonly met: Bitset; readonly drafts: readonly Draft[] } | null = null

  /**
   * `schema`: schema of the table, which must not change during the merge. `maintained`: maintained columns of the
   * table. Throws `ColumnNotFound`, `InvalidInput` or `SchemaValidation` for a condition that cannot be bound.
   */
  constructor(source: MergeSource, rules: MergeRules, schema: TableSchema, maintained: MaintainedColumns) {
    const { updateIf, removeIf } = mergeConditions(rules, source.schema, schema)
    this.#source = source
    this.#rules = rules
    this.#maintained = maintained
    this.#among = amongKeys(source, schema)
    this.#updateIf = updateIf
    this.#removeIf = removeIf
  }

  /** Compute the effect of the merge on the version of `reader`, and stage it. */
  async prepare(reader: TableReader, target: StageTarget, pacer: Pacer): Promise<Merged> {
    const { schema } = reader
    const source = this.#source
    const { update, insert, remove } = this.#rules
    const among = this.#among
    const condition = this.#updateIf
    const matches: Narrow = async (rows, hits) => {
      const found = await keyRows(source, rows, hits)
      if (update) source.checkSingle(found)
      return kept(hits, found, row => row >= 0)
    }
    const matched = await this.#matched.find(reader, among, pacer, matches)
    let replaced: RowSet = new Map()
    if (update && condition === null) replaced = matched
    else if (update) {
      const passes: Narrow = (rows, hits) => rowsPassing(source, schema, condition!, rows, hits)
      // If the condition reads the offset of a row in the table, its value may differ in the next attempt. Then do not
      // keep the result for the next attempt.
      const names = targetColumns(condition!.expr)
      const isOfRow = names !== null && !names.includes(rowOffsetField.name)
      const matcher = isOfRow ? this.#replaced : new MatchedRows()
      replaced = await matcher.find(reader, among, pacer, passes)
    }
    let removed: RowSet = new Map()
    if (remove) {
      const unmatched: Narrow = async (rows, hits) =>
        kept(hits, await keyRows(source, rows, hits), row => row < 0)
      removed = await this.#removed.find(reader, this.#removeIf, pacer, unmatched)
    }
    const arrow = arrowSchema(schema)
    const brought = source.schema.fields.map(({ name }) => name)
    const newValues = this.#maintained.after(mergedValues(source, schema), brought, pacer.signal)
    // Stage replaced and inserted rows in parallel: while one file is written, the rows of the other can be computed.
    const [moved, drafts] = await waitForBoth(
      this.#rewritten.stage(reader, arrow, replaced, newValues, target, pacer),
      insert ? this.#insert(reader, arrow, matched, target, pacer) : Promise.resolve([]),
    )
    return {
      deletions: await stageDeletions(union(reader, replaced, removed), target, pacer.signal),
      moved,
      drafts,
      updated: countIn(replaced),
      inserted: drafts.reduce((sum, { rows }) => sum + rows, 0),
      deleted: countIn(removed),
    }
  }

  /** Return whether rows that another commit appended after `prepare` may change the result of `prepare`. */
  concerns(rows: Batch): boolean {
    // The merge may have to delete the appended rows.
    if (this.#rules.remove) return true
    const columns = this.#source.keys.map(key => {
      return rows.columns[rows.schema.fields.findIndex(({ name }) => name === key)]
    })
    if (columns.includes(undefined)) return true
    return this.#source.find(columns as Column[]).some(row => row >= 0)
  }

  /** Stage the source rows without a match. Returns the files of the last attempt if the rows are the same. */
  async #insert(
    reader: TableReader,
    arrow: Schema,
    matched: RowSet,
    target: StageTarget,
    pacer: Pacer,
  ): Promise<readonly Draft[]> {
    const source = this.#source
    const met = new Bitset(source.count)
    const rows = new RowSource(reader, pacer)
    for (const [fragment, offsets] of matched) {
      for (const part of await reader.partsOf(fragment, pacer.signal)) {
        const own = offsets.filter(offset => offset >= part.first && offset < part.first + part.rows)
        if (own.length === 0) continue
        const hits = {
          parts: [part],
          partOf: null,
          offsets: own.map(offset => offset - part.first),
          computed: noComputedColumns,
        }
        for (const row of await keyRows(source, rows, hits)) {
          met.add(row)
          for (const duplicate of source.duplicatesOf(row)) met.add(duplicate)
        }
        await pacer.turn()
      }
    }
    const before = this.#inserted
    if (before?.met.words.every((word, i) => word === met.words[i])) return before.drafts
    const rest = conformBatches(source.without(met), this.#maintained.incoming)
    const complete = this.#maintained.completed(rest, pacer.signal)
    const { drafts } = await stageRows(complete, arrow, target, pacer.signal)
    this.#inserted = { met, drafts }
    return drafts
  }
}

/** Wait until both promises are settled. Then throw the first error, if any. */
async function waitForBoth<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([a, b])
  if (first.status === 'rejected') throw first.reason
  if (second.status === 'rejected') throw second.reason
  return [first.value, second.value]
}

/**
 * Return a filter that is true for all rows with a key of the source, and maybe for more rows. Null: no key has an IN
 * list.
 */
function amongKeys({ keys, members }: MergeSource, schema: TableSchema): BoundExpression | null {
  const known = keys.flatMap((key, k) => (members[k] === null ? [] : [{ key, values: members[k]! }]))
  if (known.length === 0) return null
  const conditions = known.map(({ key }, i) => `${inBackticks(key)} IN $${i + 1}`)
  const parameters = known.map(({ values }) => values)
  return bindFilter(conditions.join(' AND '), sourceSchema(schema), { parameters })
}

/** Return for each given row of the table the matching row of the source, or -1. */
async function keyRows(source: MergeSource, rows: RowSource, hits: RowHits): Promise<Int32Array> {
  return source.find((await rows.batch(hits, source.keys, false)).columns)
}

function kept({ offsets }: RowHits, rows: Int32Array, stays: (row: number) => boolean): Uint32Array {
  return offsets.filter((_, i) => stays(rows[i]!))
}

/**
 * Return a function that computes new rows: values of the source, and old values in columns that the source does not
 * have.
 */
function mergedValues(source: MergeSource, schema: TableSchema): NewValues {
  const brought = new Map(source.schema.fields.map(({ name }, i) => [name, i]))
  const others = schema.fields.map(({ name }) => name).filter(name => !brought.has(name))
  return async (rows, hits) => {
    const old = await rows.batch(hits, others, false)
    const found = source.take(new Uint32Array(await keyRows(source, rows, hits)))
    const columns = schema.fields.map(({ name }) => {
      const index = brought.get(name)
      return index === undefined ? old.columns[others.indexOf(name)]! : found.columns[index]!
    })
    return { schema, length: old.length, columns }
  }
}

// ---- conditions over both rows

const sourceName = 'source'
const targetName = 'target'

function pairSchema(source: Schema, target: TableSchema): Schema {
  const row = (name: string, children: readonly Field[]): Field => {
    return { name, type: { kind: 'struct', children }, nullable: false }
  }
  return { fields: [row(sourceName, source.fields), row(targetName, sourceSchema(target).fields)] }
}

/** Return the offsets of the given rows that have a key of the source and for which `condition` is true. */
async function rowsPassing(
  source: MergeSource,
  schema: TableSchema,
  condition: BoundExpression,
  rows: RowSource,
  hits: RowHits,
): Promise<Uint32Array> {
  const found = await keyRows(source, rows, hits)
  const offsets = kept(hits, found, row => row >= 0)
  if (offsets.length === 0) return offsets
  const own = source.take(Uint32Array.from(found.filter(row => row >= 0)))
  const fields = sourceSchema(schema).fields
  const names = targetColumns(condition.expr) ?? fields.map(({ name }) => name)
  const old = await rows.batch({ ...hits, offsets }, names, false)
  const columns = fields.map(({ name, type }) => {
    const index = names.indexOf(name)
    return index < 0 ? nullColumn(type, offsets.length) : old.columns[index]!
  })
  const pair = [
    structOf(source.schema.fields, own.columns, offsets.length),
    structOf(fields, columns, offsets.length),
  ]
  const batch: Batch = { schema: pairSchema(source.schema, schema), length: offsets.length, columns: pair }
  return selectRows(condition, batch)
    .toIndices()
    .map(i => offsets[i]!)
}

/** Return the names of the target columns that a condition reads. Null: the condition reads `target` as a whole. */
function targetColumns(node: Bound): readonly string[] | null {
  if (node.kind === 'column') {
    const [first, second] = node.path
    return first !== targetName ? [] : second === undefined ? null : [second]
  }
  const names = new Set<string>()
  for (const operand of node.operands) {
    const own = targetColumns(operand)
    if (own === null) return null
    for (const name of own) names.add(name)
  }
  return [...names]
}

function structOf(children: readonly Field[], columns: readonly Column[], length: number): Column {
  return {
    type: { kind: 'struct', children },
    length,
    nullCount: 0,
    validity: null,
    values: null,
    offsets: null,
    children: columns,
    dictionary: null,
  }
}

/** Return the union of two sets of rows that have no row in common. */
function union({ layout }: TableReader, a: RowSet, b: RowSet): RowSet {
  if (b.size === 0) return a
  const all = new Map<(typeof layout.fragments)[number], Uint32Array>()
  for (const fragment of layout.fragments) {
    const [some, others] = [a.get(fragment), b.get(fragment)]
    if (some === undefined && others === undefined) continue
    if (some === undefined || others === undefined) all.set(fragment, (some ?? others)!)
    else all.set(fragment, joinNumbers(Uint32Array, [some, others]).sort())
  }
  return all
}
