/** The difference between two versions of a table, by row id. `version-pair.ts` has the code that reads it. */
import type { Batch } from '../arrow/column.js'
import type { ArrowBatch } from '../arrow/to-arrow.js'
import { lazyImport } from '../lazy-import.js'
import { Pacer } from '../primitives/pacer.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callShape, type Operations } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import { given } from '../protocol/shape.js'
import { importReplies } from './import-replies.js'
import type { RowsAs } from './row-types.js'
import { type ConnectionInt64, callOptions, type RowsOptions, rowsShape, withInt64 } from './rows-options.js'
import type { SchemaDifference } from './schema-difference.js'
import { type BatchesOptions, batchesShape } from './search.js'
import type { Row } from './table-data.js'
import { takenAtOnce } from './take.js'
import type { VersionOrTag, VersionPair } from './version-pair.js'

const importVersionPair = lazyImport(() => import('./version-pair.js'))

/** Function that returns the compared versions. All calls return the same pair. */
type PairOf = () => Promise<VersionPair>

/** The values of a changed row in both versions. */
export interface ChangedRow<out R extends object = Row> {
  readonly before: R
  readonly after: R
}

/** A batch of changed rows, with the values of both versions. */
export interface ChangedBatch {
  /** Row `i` of `before` and row `i` of `after` are the same row. */
  readonly before: ArrowBatch
  readonly after: ArrowBatch
}

/** The difference between the versions `from` and `to`. Each part is read on demand. */
export interface Diff<out R extends object = Row> {
  /** Rows that only the version `to` has, with its columns and `_rowid`. Ordered by `_rowid`. */
  readonly added: DiffRows<R>
  /** Rows that only the version `from` has, with its columns and `_rowid`. Ordered by `_rowid`. */
  readonly removed: DiffRows<R>
  /** Rows of both versions whose values differ in a shared column. A renamed column is a shared column. */
  readonly changed: ChangedRows<R>
  /** Compare the columns of both versions. A column of only one version does not make a row count as changed. */
  schema(options?: CallOptions): Promise<SchemaDifference>
}

/**
 * Return the difference between two versions, of which `from` may be the newer one. Default for `to`: the newest version.
 * Tags are resolved at the first read.
 */
export function diffOf<R extends object>(
  operations: Operations,
  id: readonly string[],
  versions: readonly [from: VersionOrTag, to?: VersionOrTag | undefined],
  int64?: ConnectionInt64,
): Diff<R> {
  for (const version of versions) parse(versionShape, version, 'diff: the version')
  let made: VersionPair | undefined
  const pair: PairOf = async () => {
    const { VersionPair } = await importVersionPair()
    made ??= new VersionPair(operations, id, ...versions)
    return made
  }
  return {
    added: new DiffRows<R>(pair, 'added', int64),
    removed: new DiffRows<R>(pair, 'removed', int64),
    changed: new ChangedRows<R>(pair, int64),
    async schema(options) {
      const call = options && parse(callShape, options, 'schema')
      return (await pair()).schema(call)
    },
  }
}

/** A version number or a tag. */
export const versionShape = given<VersionOrTag>('an integer >= 0, or the name of a tag', value =>
  typeof value === 'string' ? value !== '' : Number.isSafeInteger(value) && (value as number) >= 0,
)

/** Rows of one version that the other version does not have. */
export class DiffRows<out R extends object = Row> {
  readonly #pair: PairOf
  readonly #what: 'added' | 'removed'
  readonly #int64: ConnectionInt64

  constructor(pair: PairOf, what: 'added' | 'removed', int64: ConnectionInt64) {
    this.#pair = pair
    this.#what = what
    this.#int64 = int64
  }

  /** Count the rows, without reading them. */
  async count(options: CallOptions = {}): Promise<number> {
    const call = parse(callShape, options, 'count')
    return (await (await this.#pair()).ids(call))[this.#what].length
  }

  /** Return the rows as objects. */
  async toArray(
    options?: RowsOptions & { readonly int64?: undefined },
  ): Promise<(R & { readonly _rowid: number })[]>
  async toArray<S extends object, const O extends RowsOptions>(
    this: DiffRows<S>,
    options: O,
  ): Promise<RowsAs<S & { readonly _rowid: number }, O>[]>
  async toArray(given: RowsOptions = {}): Promise<object[]> {
    const options = withInt64(parse(rowsShape, given, 'toArray'), this.#int64)
    const { rowObjects } = await importReplies()
    return rowObjects(this.#batches(callOptions(options)), options)
  }

  /** Yield the rows as record batches of apache-arrow. Only one batch is in memory at a time. */
  async *batches(options: BatchesOptions = {}): AsyncGenerator<ArrowBatch, void, undefined> {
    const { rows = takenAtOnce, ...call } = parse(batchesShape, options, 'batches')
    const { arrowBatch, pieces } = await importReplies()
    for await (const piece of pieces(this.#batches(call), rows, new Pacer(call.signal))) {
      yield arrowBatch(piece.schema, piece)
    }
  }

  async *#batches(options: CallOptions): AsyncGenerator<Batch> {
    const pair = await this.#pair()
    const ids = (await pair.ids(options))[this.#what]
    const side = this.#what === 'added' ? 'to' : 'from'
    if (ids.length > 0) yield* pair.rows(side, ids, options)
  }
}

takeNoMore(DiffRows.prototype, { count: 1, toArray: 1, batches: 1 })

/** Rows that both versions have, with different values. */
export class ChangedRows<out R extends object = Row> {
  readonly #pair: PairOf
  readonly #int64: ConnectionInt64

  constructor(pair: PairOf, int64: ConnectionInt64) {
    this.#pair = pair
    this.#int64 = int64
  }

  /** Count the rows. Reads and compares the shared columns of all rows that may have changed. */
  async count(options: CallOptions = {}): Promise<number> {
    let count = 0
    const call = parse(callShape, options, 'count')
    const pair = await this.#pair()
    for await (const { after } of pair.changed(true, call)) count += after.length
    return count
  }

  /** Return the rows as objects. */
  async toArray(
    options?: RowsOptions & { readonly int64?: undefined },
  ): Promise<ChangedRow<R & { readonly _rowid: number }>[]>
  async toArray<S extends object, const O extends RowsOptions>(
    this: ChangedRows<S>,
    options: O,
  ): Promise<ChangedRow<RowsAs<S & { readonly _rowid: number }, O>>[]>
  async toArray(given: RowsOptions = {}): Promise<ChangedRow<object>[]> {
    const options = withInt64(parse(rowsShape, given, 'toArray'), this.#int64)
    const rows: ChangedRow<object>[] = []
    const pair = await this.#pair()
    const { rowObjects } = await importReplies()
    for await (const { before, after } of pair.changed(false, callOptions(options))) {
      const old = await rowObjects([before], options)
      const now = await rowObjects([after], options)
      for (let i = 0; i < now.length; i++) rows.push({ before: old[i]!, after: now[i]! })
    }
    return rows
  }

  /**
   * Yield the rows of both versions as record batches of apache-arrow. Only one pair of batches is in memory at a time.
   */
  async *batches(options: BatchesOptions = {}): AsyncGenerator<ChangedBatch, void, undefined> {
    const { rows = takenAtOnce, ...call } = parse(batchesShape, options, 'batches')
    const pair = await this.#pair()
    const { arrowBatch, pieces } = await importReplies()
    for await (const { before, after } of pair.changed(false, call)) {
      const old = pieces([before], rows, new Pacer(call.signal))
      for await (const now of pieces([after], rows, new Pacer(call.signal))) {
        const was = (await old.next()).value as Batch
        yield {
          before: await arrowBatch(was.schema, was),
          after: await arrowBatch(now.schema, now),
        }
      }
    }
  }
}

takeNoMore(ChangedRows.prototype, { count: 1, toArray: 1, batches: 1 })
