/** Compares the columns of two versions of a table. A column is identified by its field id. */
import { equalTypes } from '../arrow/same-type.js'
import { typeName } from '../arrow/type-name.js'
import type { Field, Schema } from '../arrow/types.js'
import { fieldIdKey } from '../query/plan-query.js'

/** The changes of columns between two versions. Columns in none of the lists are unchanged. */
export interface SchemaDifference {
  /** Names of columns that only the version `to` has. */
  readonly added: readonly string[]
  /** Names of columns that only the version `from` has. */
  readonly removed: readonly string[]
  /** Old and new names of renamed columns. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[]
  /** Columns whose type changed, under their names in the version `to`, with the Arrow names of both types. */
  readonly retyped: readonly { readonly name: string; readonly from: string; readonly to: string }[]
}

/** A column that both versions have. */
export interface SharedColumn {
  readonly from: Field
  readonly to: Field
}

/** Compare two schemas from queries with `differs_from`. Only such schemas have field ids in the metadata of fields. */
export function schemaDifference(from: Schema, to: Schema): SchemaDifference {
  const shared = sharedColumns(from, to)
  const own = ({ fields }: Schema, side: keyof SharedColumn) => {
    const both = new Set(shared.map(column => column[side]))
    return fields.filter(field => !both.has(field)).map(field => field.name)
  }
  return {
    added: own(to, 'to'),
    removed: own(from, 'from'),
    renamed: shared
      .filter(column => column.from.name !== column.to.name)
      .map(column => ({ from: column.from.name, to: column.to.name })),
    retyped: shared
      .filter(column => !equalTypes(column.from.type, column.to.type))
      .map(({ from, to }) => ({ name: to.name, from: typeName(from.type), to: typeName(to.type) })),
  }
}

/** Return the columns that both schemas have, in the order of the schema `to`. */
export function sharedColumns(from: Schema, to: Schema): readonly SharedColumn[] {
  const before = new Map(from.fields.map(field => [idOf(field), field]))
  return to.fields.flatMap(field => {
    const own = before.get(idOf(field))
    return own === undefined ? [] : [{ from: own, to: field }]
  })
}

function idOf({ metadata }: Field): string {
  return metadata![fieldIdKey]!
}
