/** What became of the columns of a table from one version to another: columns are known by their field ids. */
import { equalTypes } from '../arrow/same-type.js'
import { typeName } from '../arrow/type-name.js'
import type { Field, Schema } from '../arrow/types.js'
import { fieldIdKey } from '../query/settle.js'

/** Columns by name; those that are nowhere stayed as they are. */
export interface SchemaDifference {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** The same column under another name. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[]
  /** The same column with another type; under its later name, types as Arrow writes them. */
  readonly retyped: readonly { readonly name: string; readonly from: string; readonly to: string }[]
}

/** A column that both versions have. */
export interface SharedColumn {
  readonly from: Field
  readonly to: Field
}

/** Schemas as queries with `differs_from` give them: the fields say their ids. */
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
