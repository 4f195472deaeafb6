/** The types of the columns that a reader of a text file yields. */
import { givenSchema } from '../../src/arrow/given-schema.js'
import { typeFromText } from '../../src/arrow/type-text.js'
import type { DataType, Field, Schema } from '../../src/arrow/types.js'
import type { SchemaInput } from '../../src/client/schema.js'
import type { TypedSource } from '../../src/client/typed-source.js'
import { columnNotFound, quote } from '../../src/errors.js'

/** The options of a reader that give types. */
interface TypeOptions {
  readonly schema?: SchemaInput | undefined
  readonly types?: Readonly<Record<string, string>> | undefined
}

/** The types that the options of a reader give, and the types of the table to which its rows are written. */
export class ReaderTypes implements TypedSource {
  readonly #options: () => TypeOptions
  /** Name of the reader in messages. */
  readonly #reader: string
  /** Types of the columns to which the rows are written, by column name. Undefined: unknown. */
  target: ReadonlyMap<string, DataType> | undefined
  /** Names of the columns of a file that was read and has no rows. */
  columns: readonly string[] = []

  /** `options`: returns the checked options of the reader. */
  constructor(reader: string, options: () => TypeOptions) {
    this.#reader = reader
    this.#options = options
  }

  readonly given = () => {
    const { schema, types = {} } = this.#options()
    const fields = new Map<string, Field>()
    const isComplete = schema !== undefined
    const columns = isComplete ? givenSchema(schema) : { fields: [] }
    for (const field of columns.fields) fields.set(field.name, field)
    for (const [name, text] of Object.entries(types)) {
      if (isComplete && !fields.has(name)) throw columnNotFound(name, [...fields.keys()])
      const place = `${this.#reader}: types: column ${quote(name)}`
      fields.set(name, { name, ...typeFromText(text, place) })
    }
    return { schema: { ...columns, fields: [...fields.values()] }, isComplete }
  }

  readonly emptyColumns = () => this.columns

  readonly readAs = ({ fields }: Schema) => {
    // A column of nulls says nothing about the texts.
    const typed = fields.filter(({ type }) => type.kind !== 'null')
    this.target = new Map(typed.map(({ name, type }) => [name, readable(type)]))
  }
}

/** Return the type as which a value is read. The call that writes the rows checks the length of vectors. */
function readable(type: DataType): DataType {
  return type.kind === 'fixed_size_list' ? { kind: 'list', large: false, child: type.child } : type
}
