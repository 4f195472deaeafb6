/** Columns as callers of a handle define them, in the words of the wire. */
import { typeToJson } from '../arrow/schema-json.js'
import type { DataType } from '../arrow/types.js'
import { parse } from '../protocol/parse.js'
import type { ColumnAlteration, JsonDataType, NewColumn } from '../protocol/schema-shapes.js'
import { array, boolean, either, given, options, record, string } from '../protocol/shape.js'

/** A type, or its name in any dialect: `int32`, `string`, `timestamp:ms:UTC`, `fixed_size_list:float32:768`. */
export type ColumnType = DataType | string

/** Where the values of a new column come from. Only a type: all rows are null. */
export interface ColumnDefinition {
  /** SQL, evaluated once over the rows there are; later rows are null. */
  readonly expression?: string
  /** SQL that is kept up to date for all rows. */
  readonly computed?: string
  /** Name of a function the connection knows (`ConnectOptions.functions`); it fills the column when asked to. */
  readonly function?: string
  /** Version of the function. */
  readonly version?: string
  /** Columns the function is given. */
  readonly inputs?: readonly string[]
  /** Whether the function fills the column by itself: now, and for rows that come or change. Default false. */
  readonly autoBackfill?: boolean
  /** Default: that of the expression. A function needs one. */
  readonly type?: ColumnType
}

/** New columns by name; a text is an expression. */
export type NewColumns = Readonly<Record<string, string | ColumnDefinition>>

export interface ColumnChanges {
  readonly rename?: string
  readonly nullable?: boolean
  /** Every value must fit. */
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

export function newColumns(columns: NewColumns): readonly NewColumn[] {
  return Object.entries(parse(newColumnsShape, columns, 'addColumns')).map(([name, column]) => {
    return typeof column === 'string' ? { name, expression: column } : newColumn(name, column)
  })
}

function newColumn(name: string, column: ColumnDefinition): NewColumn {
  const { expression, computed, function: udf_name, version, inputs, autoBackfill, type } = column
  const data_type = type === undefined ? {} : { data_type: jsonType(type) }
  const made = {
    name,
    ...(expression !== undefined && { expression }),
    ...(computed !== undefined && { computed }),
  }
  if (udf_name === undefined) {
    const isEmpty = expression === undefined && computed === undefined
    return { ...made, ...(isEmpty && { all_null: true }), ...data_type }
  }
  return {
    ...made,
    virtual_column: {
      udf_name,
      input_columns: inputs ?? [],
      ...(version !== undefined && { udf_version: version }),
      ...(autoBackfill !== undefined && { auto_backfill: autoBackfill }),
      ...data_type,
    },
  }
}

export function alterations(changes: Readonly<Record<string, ColumnChanges>>): readonly ColumnAlteration[] {
  const checked = parse(record(columnChangesShape, Number.POSITIVE_INFINITY), changes, 'alterColumns')
  return Object.entries(checked).map(([path, { type, ...change }]) => {
    return { path, ...change, ...(type !== undefined && { data_type: jsonType(type) }) }
  })
}

/** The names of Lance say all of a type. */
function jsonType(type: ColumnType): JsonDataType {
  return typeof type === 'string' ? { type } : typeToJson(type, 'lance')
}
