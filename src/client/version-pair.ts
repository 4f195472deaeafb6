/**
 * Reads the difference between two versions of a table. A query with `differs_from` returns the rows of one version
 * that are not stored at the same address in the other version. If only one version returns a row id, the row was added
 * or removed. If both versions return a row id, the values are compared, because a row may have been moved, or
 * rewritten with equal values.
 *
 * The row ids are kept in memory, with 16 bytes per differing row. Rows are read in batches of 4,096.
 */
import type { Batch } from '../arrow/column.js'
import { takeBatch } from '../arrow/take.js'
import type { Schema } from '../arrow/types.js'
import { lazyImport } from '../lazy-import.js'
import { Pacer } from '../primitives/pacer.js'
import type { CallOptions, Operations } from '../protocol/calls.js'
import { ascendingIds, type DifferingIds, differingIds, idNumbers } from '../query/differing-ids.js'
import { readReply } from './read-replies.js'
import { scanPages } from './scan-pages.js'
import { type SchemaDifference, schemaDifference, sharedColumns } from './schema-difference.js'
import { takenAtOnce, takePages } from './take.js'

const importDiffering = lazyImport(() => import('./differing.js'))

/** A version number, or a tag. A tag is resolved when the difference is first read. */
export type VersionOrTag = number | string

/** The number of the state before the first version of a table: no rows and no columns. */
const noVersion = 0

/** Maximum row ids per query. */
const idsAtOnce = 32 * 1024

type Side = 'from' | 'to'

/** Two versions to compare. Their row ids and schemas are read once and then kept. */
export class VersionPair {
  readonly #operations: Operations
  readonly #id: readonly string[]
  readonly #requested: Readonly<Record<Side, VersionOrTag | undefined>>
  #versions: Readonly<Record<Side, number>> | undefined
  #ids: DifferingIds | undefined
  #schemas: Readonly<Record<Side, Schema>> | undefined

  /** `to`: absent for the latest version. */
  constructor(
    operations: Operations,
    id: readonly string[],
    from: VersionOrTag,
    to?: VersionOrTag | undefined,
  ) {
    this.#operations = operations
    this.#id = id
    this.#requested = { from, to }
  }

  async ids(options: CallOptions): Promise<DifferingIds> {
    if (this.#ids !== undefined) return this.#ids
    const from = await this.#idsOf('from', options)
    const to = await this.#idsOf('to', options)
    const ids = await differingIds(from, to, new Pacer(options.signal))
    this.#ids = ids
    return ids
  }

  async schema(options: CallOptions = {}): Promise<SchemaDifference> {
    const { from, to } = await this.#bothSchemas(options)
    return schemaDifference(from, to)
  }

  /** Yield the rows with the given ids from one of the two versions, ordered by id. `columns` absent: all columns. */
  async *rows(
    side: Side,
    ids: Float64Array,
    options: CallOptions,
    columns?: readonly string[],
  ): AsyncGenerator<Batch> {
    const version = (await this.#resolved(options))[side]
    const request = {
      id: this.#id,
      version,
      with_row_id: true,
      ...(columns !== undefined && { columns: { column_names: columns } }),
    }
    for await (const { batches } of takePages(this.#operations, request, '_rowid', ids, options))
      yield* batches
  }

  /**
   * Yield the rows of both versions whose values differ. `compared`: whether to return only the columns of both
   * versions.
   */
  async *changed(
    compared: boolean,
    options: CallOptions,
  ): AsyncGenerator<{ readonly before: Batch; readonly after: Batch }> {
    const { both } = await this.ids(options)
    if (both.length === 0) return
    const { from, to } = await this.#bothSchemas(options)
    const shared = sharedColumns(from, to)
    if (shared.length === 0) return
    const columnsOf = (side: Side) => (compared ? shared.map(column => column[side].name) : undefined)
    const pacer = new Pacer(options.signal)
    const { differing } = await importDiffering()
    for (let at = 0; at < both.length; at += takenAtOnce) {
      const some = both.subarray(at, at + takenAtOnce)
      const before = await firstBatch(this.rows('from', some, options, columnsOf('from')))
      const after = await firstBatch(this.rows('to', some, options, columnsOf('to')))
      const rows = (await differing(before, after, shared, pacer)).toIndices()
      if (rows.length > 0) yield { before: takeBatch(before, rows), after: takeBatch(after, rows) }
      await pacer.turn()
    }
  }

  /** Return, ascending, the ids of the rows of one version that are not at the same address in the other version. */
  async #idsOf(side: Side, options: CallOptions): Promise<Float64Array> {
    const { [side]: version, [side === 'from' ? 'to' : 'from']: other } = await this.#resolved(options)
    if (version === noVersion) return new Float64Array(0)
    const query = { id: this.#id, version, vector: null, k: Number.MAX_SAFE_INTEGER }
    const request = {
      ...query,
      ...(other !== noVersion && { differs_from: other }),
      columns: { column_names: ['_rowid'] },
    }
    const found: Float64Array[] = []
    for await (const page of scanPages(this.#operations, request, idsAtOnce, options)) {
      for (const { columns } of page.batches) found.push(idNumbers(columns[0]!.values as BigUint64Array))
    }
    return ascendingIds(found, new Pacer(options.signal))
  }

  async #bothSchemas(options: CallOptions): Promise<Readonly<Record<Side, Schema>>> {
    this.#schemas ??= {
      from: await this.#schemaOf('from', options),
      to: await this.#schemaOf('to', options),
    }
    return this.#schemas
  }

  async #schemaOf(side: Side, options: CallOptions): Promise<Schema> {
    const { [side]: version, [side === 'from' ? 'to' : 'from']: other } = await this.#resolved(options)
    if (version === noVersion) return { fields: [] }
    // Set `differs_from` also without another version, because only such a query returns the field ids of the columns.
    const differs_from = other === noVersion ? version : other
    const request = { id: this.#id, version, differs_from, vector: null, k: 0 }
    return readReply(await this.#operations.queryTable(request, options)).schema
  }

  async #resolved(options: CallOptions): Promise<Readonly<Record<Side, number>>> {
    if (this.#versions === undefined) {
      const { from, to } = this.#requested
      const version = async (requested: VersionOrTag | undefined) => {
        if (typeof requested === 'number') return requested
        const id = this.#id
        if (requested === undefined) {
          return (await this.#operations.describeTableVersion({ id }, options)).version.version
        }
        return (await this.#operations.getTableTagVersion({ id, tag: requested }, options)).version
      }
      this.#versions = { from: await version(from), to: await version(to) }
    }
    return this.#versions
  }
}

async function firstBatch(batches: AsyncGenerator<Batch>): Promise<Batch> {
  const { value } = await batches.next()
  await batches.return(undefined)
  return value as Batch
}
