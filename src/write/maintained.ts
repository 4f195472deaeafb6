/**
 * Computes maintained columns. Sheaf computes these columns for new rows, and computes them again in rows whose input
 * columns change.
 */
import type { Batch, Column } from '../arrow/column.js'
import { isValid } from '../arrow/column.js'
import type { Schema } from '../arrow/types.js'
import { quote, schemaMismatch } from '../errors.js'
import { arrowSchema, type TableField, type TableSchema } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import { evaluateInSteps } from '../query/evaluate-in-steps.js'
import { conformBatch } from './conform.js'
import { definitionOf, definitionText, isMaintained, withNulls } from './definitions.js'
import { type Derivation, type Deriver, deriving, filledWith, soleBatch } from './derive.js'
import type { FunctionCaller } from './functions.js'
import type { NewValues } from './rewrite-rows.js'

/** The rows of a write, before their conversion to the schema of the table. */
interface IncomingRows {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
}

/** The maintained columns of a table. */
export class MaintainedColumns {
  /** Schema of the table, with maintained columns nullable. */
  readonly incoming: Schema
  readonly #schema: Schema
  /**
   * The derivations in an order in which each reads only columns that are stored or that earlier derivations compute.
   */
  readonly #derivations: readonly Derivation[]
  readonly #names: ReadonlySet<string>
  readonly #caller: FunctionCaller

  /** `caller`: the caller that writes the rows. */
  constructor(schema: TableSchema, deriver: Deriver, caller: FunctionCaller) {
    this.#caller = caller
    this.#schema = arrowSchema(schema)
    this.incoming = withNulls(this.#schema)
    this.#derivations = derivationsIn(schema, deriver)
    this.#names = new Set(this.#derivations.flatMap(({ fields }) => fields.map(({ name }) => name)))
  }

  /** Whether the table has any maintained column. */
  get isAny(): boolean {
    return this.#derivations.length > 0
  }

  /** Return whether the column `name` is maintained. */
  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** Remove maintained columns from incoming rows. Throws `SchemaValidation` if one has a value that is not null. */
  withoutOwn(incoming: IncomingRows): IncomingRows {
    if (!incoming.schema.fields.some(({ name }) => this.#names.has(name))) return incoming
    const kept = [...incoming.schema.fields.keys()].filter(
      i => !this.#names.has(incoming.schema.fields[i]!.name),
    )
    const schema = { ...incoming.schema, fields: kept.map(i => incoming.schema.fields[i]!) }
    return { schema, batches: this.#stripped(incoming.batches, schema, kept) }
  }

  async *#stripped(batches: IncomingRows['batches'], schema: Schema, kept: readonly number[]) {
    let firstRow = 0
    for await (const batch of batches) {
      for (const [i, { name }] of batch.schema.fields.entries()) {
        const row = this.#names.has(name) ? firstPresent(batch.columns[i]!) : null
        if (row !== null) throw settingRefused(name, `row ${firstRow + row} has a value`)
      }
      firstRow += batch.length
      yield { schema, length: batch.length, columns: kept.map(i => batch.columns[i]!) }
    }
  }

  /**
   * Compute the maintained columns of new rows with the schema `incoming`. Error messages number the rows of all
   * batches consecutively.
   */
  async *completed(batches: IncomingRows['batches'], signal: AbortSignal | undefined): AsyncGenerator<Batch> {
    let firstRow = 0
    for await (const batch of batches) {
      yield this.#derivations.length === 0 ? batch : await this.#complete(batch, null, firstRow, signal)
      firstRow += batch.length
    }
  }

  /** Extend `values`, which computes the columns `changed`, by the maintained columns that depend on these columns. */
  after(values: NewValues, changed: readonly string[], signal: AbortSignal | undefined): NewValues {
    const isConcerned = this.#derivations.some(({ inputs }) => inputs.some(name => changed.includes(name)))
    // If no maintained column reads a changed column directly, no maintained column depends on one indirectly.
    if (!isConcerned) return values
    return async (source, hits, pacer, ids) => {
      const rows = conformBatch(await values(source, hits, pacer, ids), this.incoming, ids)
      return this.#complete(rows, changed, 0, signal)
    }
  }

  /**
   * Compute maintained columns of a batch. `changed`: names of the changed columns; only columns that depend on them
   * are computed. Null: the rows are new, so all maintained columns are computed.
   */
  async #complete(
    batch: Batch,
    changed: readonly string[] | null,
    firstRow: number,
    signal: AbortSignal | undefined,
  ): Promise<Batch> {
    const touched = new Set(changed ?? [])
    const columns = [...batch.columns]
    const pacer = new Pacer(signal)
    for (const { fields, inputs, expression, values } of this.#derivations) {
      if (changed !== null && !inputs.some(name => touched.has(name))) continue
      const rows = { ...batch, columns }
      const made =
        expression === null
          ? await values(rows, { firstRow, signal, caller: this.#caller })
          : soleBatch(fields[0]!, (await evaluateInSteps([expression], rows, pacer))[0]!)
      const conformed = conformBatch(made, { fields }, firstRow)
      for (const [i, { name }] of fields.entries()) {
        columns[batch.schema.fields.findIndex(field => field.name === name)] = conformed.columns[i]!
        touched.add(name)
      }
    }
    return { ...batch, schema: this.#schema, columns }
  }
}

/** Throw `SchemaValidation` if a caller sets a maintained column. */
export function checkSettable(field: TableField): void {
  if (isMaintained(field)) throw settingRefused(field.name, 'it cannot be set')
}

function settingRefused(name: string, what: string) {
  return schemaMismatch(`Sheaf computes column ${quote(name)} from its definition: ${what}`, {
    hint: 'omit the column',
  })
}

/** Return whether two schemas have the same maintained columns with the same definitions. */
export function maintainsAlike(a: TableSchema, b: TableSchema): boolean {
  const texts = ({ fields }: TableSchema) =>
    fields
      .filter(isMaintained)
      .map(field => `${field.id} ${definitionText(field)}`)
      .sort()
  return texts(a).join('\n') === texts(b).join('\n')
}

/** Return the derivations in the order of their field ids. Columns read only older columns, so this order is valid. */
function derivationsIn(schema: TableSchema, deriver: Deriver): readonly Derivation[] {
  const derivations: Derivation[] = []
  const done = new Set<number>()
  for (const field of schema.fields.filter(isMaintained).sort((a, b) => a.id - b.id)) {
    if (done.has(field.id)) continue
    const fields = filledWith(field, schema)
    for (const { id } of fields) done.add(id)
    derivations.push(deriving(definitionOf(field)!, fields, schema, deriver))
  }
  return derivations
}

function firstPresent(column: Column): number | null {
  if (column.nullCount === column.length) return null
  for (let row = 0; row < column.length; row++) if (isValid(column, row)) return row
  return null
}
