/** The arguments of `addColumns` and `alterColumns`, and their conversion to wire fields. */
import { typeToJson } from '../arrow/schema-json.js'
import { typeFromText } from '../arrow/type-text.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput, quote } from '../errors.js'
import { parse } from '../protocol/parse.js'
import type { ColumnAlteration, JsonDataType, NewColumn } from '../protocol/schema-shapes.js'
import { array, boolean, either, given, options, record, string } from '../protocol/shape.js'

/**
 * A type as plain data, or as text in the notation of the function `schema()`, for example `int32`, `timestamp(us, UTC)`
 * or `vector(768)`.
 */
export type ColumnType = DataType | string

/** Definition of a new column. If only `type` is given, all values are null. */
export interface ColumnDefinition {
  /** SQL expression that is evaluated once, for the existing rows. Rows that are added later have null. */
  readonly expression?: string
  /** SQL expression of a computed column. Sheaf keeps the values up to date in all rows. */
  readonly computed?: string
  /**
   * Name of a function that was passed to `connect` (`ConnectOptions.functions`). A backfill fills the column with the
   * results of the function.
   */
  readonly function?: string
  /** Version of the function. Only with `function`. */
  readonly version?: string
  /** Names of the columns whose values the function receives. */
  readonly inputs?: readonly string[]
  /** Whether to start backfills automatically: now, and later for added or changed rows. Default false. */
  readonly autoBackfill?: boolean
  /** Type of the column. Default: the type of the expression. Required with `function`. */
  readonly type?: ColumnType
}

/** Definitions of new columns by name. A string is the `expression` of the column. */
export type NewColumns = Readonly<Record<string, string | ColumnDefinition>>

/** Changes of a column. */
export interface ColumnChanges {
  /** The new name. For a field of a struct: the new name without the path of the struct. */
  readonly rename?: string
  /** Whether the column may contain null. A change to false requires that no value is null. */
  readonly nullable?: boolean
  /** The new type. Every value of the column must fit. */
  readonly type?: ColumnType
}

const columnType = given<ColumnType>(
  'a type, or the name of a type',
  value => typeof value === 'string' || (typeof value === 'object' && value !== null),
)

export const columnDefinitionShape = options<ColumnDefinition>()({
  expression: string('nonBlank'),
  computed: string('nonBlank'),
  function: string('nonEmpty'),
  version: string(),
  inputs: array(string('nonEmpty')),
  autoBackfill: boolean,
  type: columnType,
})

const newColumnsShape = record(
  either<string | ColumnDefinition>(
    { is: value => typeof value === 'string', shape: string('nonBlank') },
    { is: () => true, shape: columnDefinitionShape },
  ),
  Number.POSITIVE_INFINITY,
)

export const columnChangesShape = options<ColumnChanges>()({
  rename: string('nonEmpty'),
  nullable: boolean,
  type: columnType,
})

/** Return the wire fields of new columns. */
export function newColumns(columns: NewColumns): readonly NewColumn[] {
  if (Array.isArray(columns)) {
    throw invalidInput(`addColumns must be an object, got ${quote(columns)}`, {
      hint: "write { name: 'SQL expression' }",
    })
  }
  return Object.entries(parse(newColumnsShape, columns, 'addColumns')).map(([name, column]) => {
    return typeof column === 'string' ? { name, expression: column } : newColumn(name, column)
  })
}

function newColumn(name: string, column: ColumnDefinition): NewColumn {
  const { expression, computed, function: udf_name, version, inputs, autoBackfill, type } = column
  const data_type =
    type === undefined ? {} : { data_type: jsonType(type, `addColumns: column ${quote(name)}`) }
  const definition = {
    name,
    ...(expression !== undefined && { expression }),
    ...(computed !== undefined && { computed }),
  }
  if (udf_name === undefined) {
    const isEmpty = expression === undefined && computed === undefined
    return { ...definition, ...(isEmpty && { all_null: true }), ...data_type }
  }
  return {
    ...definition,
    virtual_column: {
      udf_name,
      input_columns: inputs ?? [],
      ...(version !== undefined && { udf_version: version }),
      ...(autoBackfill !== undefined && { auto_backfill: autoBackfill }),
      ...data_type,
    },
  }
}

/** Return the wire fields of column changes. */
export function alterations(changes: Readonly<Record<string, ColumnChanges>>): readonly ColumnAlteration[] {
  const checked = parse(record(columnChangesShape, Number.POSITIVE_INFINITY), changes, 'alterColumns')
  return Object.entries(checked).map(([path, { type, ...change }]) => {
    return {
      path,
      ...change,
      ...(type !== undefined && { data_type: jsonType(type, `alterColumns: column ${quote(path)}`) }),
    }
  })
}

/** Return a type as JSON with the type names of the dialect `lance`, which can describe every type completely. */
function jsonType(type: ColumnType, place: string): JsonDataType {
  if (typeof type !== 'string') return typeToJson(type, 'lance')
  const text = typeFromText(type, place)
  if (!text.nullable) {
    throw invalidInput(`${place}: ${quote(type)} has "!", which is allowed only in schema()`, {
      hint: 'leave "!" out; when no row has null in the column, call alterColumns with nullable: false',
    })
  }
  return typeToJson(text.type, 'lance')
}
