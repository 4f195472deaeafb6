/** Column definitions and changes of the client, and their conversion to wire fields. */
import { typeToJson } from '../arrow/schema-json.js'
import { typeFromText } from '../arrow/type-text.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput, quote } from '../errors.js'
import { parse } from '../protocol/parse.js'
import type { ColumnAlteration, JsonDataType, NewColumn } from '../protocol/schema-shapes.js'
import { array, boolean, either, given, options, record, string } from '../protocol/shape.js'

/** A type as plain data or as text, as `schema` takes it: `int32`, `timestamp(us, UTC)`, `vector(768)`. */
export type ColumnType = DataType | string

/** Definition of a new column. With only a `type`, all values are null. */
export interface ColumnDefinition {
  /** An SQL expression, evaluated once for existing rows. Rows that are added later have null. */
  readonly expression?: string
  /** An SQL expression that is kept up to date for all rows. */
  readonly computed?: string
  /**
   * Name of a function that the connection knows (`ConnectOptions.functions`). A backfill fills the column with its
   * results.
   */
  readonly function?: string
  /** Version of the function. */
  readonly version?: string
  /** Columns that the function receives. */
  readonly inputs?: readonly string[]
  /** Whether to start backfills automatically: now, and for rows that are added or changed. Default false. */
  readonly autoBackfill?: boolean
  /** Default: the type of the expression. Required for a function. */
  readonly type?: ColumnType
}

/** New columns by name. A string is an expression. */
export type NewColumns = Readonly<Record<string, string | ColumnDefinition>>

/** Changes of a column. */
export interface ColumnChanges {
  /** The new name; for a field of a struct, without the path. */
  readonly rename?: string
  /** Whether the column may contain null. Changing it to false requires that no value is null. */
  readonly nullable?: boolean
  /** The new type. Every value must fit. */
  readonly type?: ColumnType
}

const columnType = given<ColumnType>(
  'a type, or the name of one',
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

/** The names of the dialect `lance` describe every type completely. */
function jsonType(type: ColumnType, place: string): JsonDataType {
  if (typeof type !== 'string') return typeToJson(type, 'lance')
  const text = typeFromText(type, place)
  if (!text.nullable) {
    throw invalidInput(`${place}: ${quote(type)} has "!", but existing rows have no value`, {
      hint: 'set nullable: false by alterColumns, once every row has a value',
    })
  }
  return typeToJson(text.type, 'lance')
}
