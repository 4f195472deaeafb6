/**
 * Merges rows into a table by key (SQL's MERGE). Depending on the rules, matching rows are replaced, rows that only the
 * source has are inserted, and rows that only the table has are deleted.
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
import type { Bound, BoundExpression } from '../sql/bound.js'
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

/** Which rows a merge replaces, inserts and deletes. */
export interface MergeRules {
  /** Whether to replace matching rows; with `updateIf`, only those for which it is true. */
  readonly update: boolean
  /** SQL over `source.x` and `target.x`. */
  readonly updateIf: string | undefined
  readonly insert: boolean
  /** Whether to delete rows that only the table has; with `removeIf`, only those for which it is true. */
  readonly remove: boolean
  /** SQL over the columns of the table. */
  readonly removeIf: string | undefined
  /** Parameters of both conditions. */
  readonly parameters: ParameterList
}

/** The staged effect of a merge on one version. */
interface Merged {
  readonly deletions: StagedDeletions
  readonly moved: readonly MovedDraft[]
  readonly drafts: readonly Draft[]
  readonly updated: number
  readonly inserted: number
  readonly deleted: number
}

/**
 * Bind the conditions of a merge. `brought`: schema of the merged rows. `schema`: that of the table. Throws
 * `ColumnNotFound`, `InvalidInput` or `SchemaValidation` for conditions that do not fit.
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

/** One merge, with all its attempts. */
export class RowMerge {
  readonly #source: MergeSource
  readonly #rules: MergeRules
  readonly #maintained: MaintainedColumns
  readonly #matched = new MatchedRows()
  readonly #replaced = new MatchedRows()
  readonly #removed = new MatchedRows()
  readonly #rewritten = new RewrittenRows()
  /** True for all rows whose keys the source has, and perhaps for others. */
  readonly #among: BoundExpression | null
  readonly #updateIf: BoundExpression | null
  readonly #removeIf: BoundExpression | null
  #inserted: { readonly met: Bitset; readonly drafts: readonly Draft[] } | null = null

  /**
   * `schema`: that of the table, which must not change during the merge. `maintained`: its maintained columns. Throws
   * `ColumnNotFound`, `InvalidInput` or `SchemaValidation` for conditions that do not fit.
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

  /** Work out the effect of the merge on a version, and stage it. */
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
      // The offset of a row in the table may differ in the next attempt.
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
    // Stage both in parallel: one is computed while the other is written to disk.
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

  /** Return whether rows that were appended since affect the result of `prepare`. */
  concerns(rows: Batch): boolean {
    // Appended rows may have to be deleted.
    if (this.#rules.remove) return true
    const columns = this.#source.keys.map(key => {
      return rows.columns[rows.schema.fields.findIndex(({ name }) => name === key)]
    })
    if (columns.includes(undefined)) return true
    return this.#source.find(columns as Column[]).some(row => row >= 0)
  }

  /** Stage the rows without a match. Reuses the drafts of the last attempt if the rows are the same. */
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

/** Wait for both, also if one fails. */
async function waitForBoth<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([a, b])
  if (first.status === 'rejected') throw first.reason
  if (second.status === 'rejected') throw second.reason
  return [first.value, second.value]
}

/** A filter that is true for all rows with a key of the source, and perhaps for others. Null if there is none. */
function amongKeys({ keys, members }: MergeSource, schema: TableSchema): BoundExpression | null {
  const known = keys.flatMap((key, k) => (members[k] === null ? [] : [{ key, values: members[k]! }]))
  if (known.length === 0) return null
  const conditions = known.map(({ key }, i) => `${inBackticks(key)} IN $${i + 1}`)
  const parameters = known.map(({ values }) => values)
  return bindFilter(conditions.join(' AND '), sourceSchema(schema), { parameters })
}

/** The matching row of the source for each row of the table, or -1. */
async function keyRows(source: MergeSource, rows: RowSource, hits: RowHits): Promise<Int32Array> {
  return source.find((await rows.batch(hits, source.keys, false)).columns)
}

function kept({ offsets }: RowHits, rows: Int32Array, stays: (row: number) => boolean): Uint32Array {
  return offsets.filter((_, i) => stays(rows[i]!))
}

/** New values: those of the source, and the old values of columns that the source does not have. */
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

/** Rows with a key of the source for which `condition` is true. */
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

/** The columns of the target that a condition reads; null: the whole row. */
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

/** The union of disjoint sets of rows. */
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
