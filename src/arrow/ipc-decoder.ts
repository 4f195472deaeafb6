/**
 * Decodes the dictionary and record batches of an IPC stream or file. Keeps the schema and the dictionaries between
 * messages.
 */
import { invalidInput, quote } from '../errors.js'
import { type AssembleOptions, assembleColumns } from './assemble.js'
import type { Budget } from './budget.js'
import type { Batch, Column } from './column.js'
import { concatColumns } from './concat.js'
import { emptyColumn } from './fill.js'
import type { BodyHeader, Message } from './ipc-message.js'
import type { DecodedSchema } from './ipc-schema.js'
import { columnBytes } from './layout.js'
import { equalTypes } from './same-type.js'
import type { Steps } from './steps.js'
import type { Schema } from './types.js'
import { dictionaryFields, type WireField } from './wire-field.js'

/** Options of `IpcDecoder`. */
interface DecoderOptions {
  /** Limit of the memory of all dictionaries together. */
  readonly dictionaryBudget: Budget
  /** Whether to check that text is valid UTF-8. */
  readonly checkText: boolean
}

/** A decoder of the messages after the schema message. */
export class IpcDecoder {
  readonly schema: Schema
  readonly #fields: readonly WireField[]
  readonly #options: DecoderOptions
  /** By dictionary id: the field of the dictionary. A dictionary precedes the dictionaries whose values refer to it. */
  readonly #dictionaryFields = new Map<number, WireField>()
  /**
   * By dictionary id: its values in one or more columns. `#dictionaryOf` joins several columns when it needs the
   * dictionary.
   */
  readonly #dictionaries = new Map<number, Column[]>()

  constructor({ schema, fields }: DecodedSchema, options: DecoderOptions) {
    this.schema = schema
    this.#fields = fields
    this.#options = options
    for (const field of dictionaryFields(fields)) {
      if (!this.#dictionaryFields.has(field.dictionaryId)) {
        this.#dictionaryFields.set(field.dictionaryId, field)
      }
    }
  }

  /** Return a rank for each dictionary id. The values of a dictionary refer only to dictionaries of lower rank. */
  dictionaryRanks(): Map<number, number> {
    return new Map([...this.#dictionaryFields.keys()].map((id, rank) => [id, rank]))
  }

  /**
   * Add a dictionary batch. `at`: offset of its body in the input, for messages.
   * @throws InvalidInput if the batch is broken, or no column uses the dictionary.
   */
  *addDictionary(
    message: Message & { readonly kind: 'dictionary' },
    body: Uint8Array,
    at: number,
  ): Steps<void> {
    const { id, delta, header } = message
    const field = this.#dictionaryFields.get(id)
    if (field === undefined) throw invalidInput(`no column uses dictionary ${id} (byte ${at})`)
    const options = this.#assembleOptions(this.#options.dictionaryBudget)
    const [column] = yield* assembleColumns([field.values!], { header, bytes: body, at }, options)
    const known = this.#dictionaries.get(id)
    if (delta && known !== undefined) known.push(column!)
    else this.#dictionaries.set(id, [column!])
  }

  /**
   * Decode a record batch. `at`: offset of its body in the input, for messages.
   * @throws InvalidInput if the batch is broken. The status is 413 if the budget is exceeded.
   */
  *batch(header: BodyHeader, body: Uint8Array, at: number, budget: Budget): Steps<Batch> {
    if (this.#fields.length === 0) budget.charge(header.length * 8, '')
    const columns = yield* assembleColumns(
      this.#fields,
      { header, bytes: body, at },
      this.#assembleOptions(budget),
    )
    columns.forEach((column, i) => {
      if (column.length === header.length) return
      throw invalidInput(
        `broken arrow body: column ${quote(this.#fields[i]!.path)} has ${column.length} rows, but its batch has ` +
          `${header.length} (byte ${at})`,
      )
    })
    const { length, metadata } = header
    return { schema: this.schema, length, columns, ...(metadata !== undefined && { metadata }) }
  }

  #assembleOptions(budget: Budget): AssembleOptions {
    const dictionaryOf = (field: WireField): Column => this.#dictionaryOf(field)
    return { budget, dictionaryOf, checkText: this.#options.checkText }
  }

  #dictionaryOf(field: WireField): Column {
    const parts = this.#dictionaries.get(field.dictionaryId)
    const valueType = field.values!.type
    // The message of the dictionary is missing. With an empty dictionary, the assembler rejects every index that is not
    // null.
    if (parts === undefined) return emptyColumn(valueType)
    if (parts.length > 1) {
      for (const part of parts) this.#options.dictionaryBudget.charge(columnBytes(part), field.path)
      parts.splice(0, parts.length, concatColumns(parts))
    }
    const dictionary = parts[0]!
    if (!equalTypes(dictionary.type, valueType)) {
      throw invalidInput(
        `column ${quote(field.path)} and a column of another type use the same dictionary ${field.dictionaryId}`,
      )
    }
    return dictionary
  }
}
