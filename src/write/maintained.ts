/** Columns that are kept up to date: filled in rows that come, and in rows whose other columns change. */
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

export interface IncomingRows {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
}

export class MaintainedColumns {
  /** Of the table, nulls allowed where they are filled. */
  readonly incoming: Schema
  readonly #schema: Schema
  /** In an order in which each reads only what is there. */
  readonly #derivations: readonly Derivation[]
  readonly #names: ReadonlySet<string>
  readonly #caller: FunctionCaller

  /** `caller`: who brings the rows, or changes them. */
  constructor(schema: TableSchema, deriver: Deriver, caller: FunctionCaller) {
    this.#caller = caller
    this.#schema = arrowSchema(schema)
    this.incoming = withNulls(this.#schema)
    this.#derivations = derivationsIn(schema, deriver)
    this.#names = new Set(this.#derivations.flatMap(({ fields }) => fields.map(({ name }) => name)))
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** Rows as they come, without these columns, which may only be null there. Throws code 20 for those that are not. */
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
        if (row !== null) throw isGiven(name, `row ${firstRow + row} brings a value`)
      }
      firstRow += batch.length
      yield { schema, length: batch.length, columns: kept.map(i => batch.columns[i]!) }
    }
  }

  /** New rows that have the schema `incoming`, completed; counted from batch to batch. */
  async *completed(batches: IncomingRows['batches'], signal: AbortSignal | undefined): AsyncGenerator<Batch> {
    let firstRow = 0
    for await (const batch of batches) {
      yield this.#derivations.length === 0 ? batch : await this.#complete(batch, null, firstRow, signal)
      firstRow += batch.length
    }
  }

  /** The new values of rows of which only `changed` were set, with what follows from them. */
  after(values: NewValues, changed: readonly string[], signal: AbortSignal | undefined): NewValues {
    const isConcerned = this.#derivations.some(({ inputs }) => inputs.some(name => changed.includes(name)))
    // What follows from one that is filled again is in the list of those too.
    if (!isConcerned) return values
    return async (source, hits, pacer, ids) => {
      const rows = conformBatch(await values(source, hits, pacer, ids), this.incoming, ids)
      return this.#complete(rows, changed, 0, signal)
    }
  }

  /** `changed`: null for rows that are new. */
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

/** Refuses to set a column that is kept up to date (code 20). */
export function checkSettable(field: TableField): void {
  if (isMaintained(field)) throw isGiven(field.name, 'it cannot be set')
}

function isGiven(name: string, what: string) {
  return schemaMismatch(`column ${quote(name)} is kept up to date by its definition: ${what}`, {
    hint: 'leave it out',
  })
}

/** Whether the columns that are kept up to date are the same, made in the same way. */
export function maintainsAlike(a: TableSchema, b: TableSchema): boolean {
  const texts = ({ fields }: TableSchema) =>
    fields
      .filter(isMaintained)
      .map(field => `${field.id} ${definitionText(field)}`)
      .sort()
  return texts(a).join('\n') === texts(b).join('\n')
}

/** A column is made of such as were there before it, so those with small ids come first. */
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
