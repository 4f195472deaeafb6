/** Resolve names to the columns of a schema (rules ). */
import { typeName } from '../../arrow/type-name.js'
import type { DataType, Field, Schema } from '../../arrow/types.js'
import { columnNotFound, cut, invalidInput, quote, type SourceSpan, schemaMismatch } from '../../errors.js'
import { ColumnNode } from '../column-node.js'
import { printName } from '../syntax/print-name.js'
import type { NamePart } from '../syntax/syntax.js'

/**
 * Resolve a path to a column. The first segment names a top-level column, and each further segment a field of a struct.
 *
 * Throws:
 * - `ColumnNotFound` for an unknown name
 * - `InvalidInput` for a name that matches several columns only when case is ignored
 * - `SchemaValidation` for a field of a column that is not a struct
 */
export function resolveColumn(path: readonly NamePart[], schema: Schema, at: SourceSpan): ColumnNode {
  let fields = schema.fields
  let type: DataType = { kind: 'struct', children: fields }
  const names: string[] = []
  for (const part of path) {
    if (type.kind !== 'struct') {
      throw schemaMismatch(`${names.join('.')} is ${typeName(type)}, which has no fields`, {
        at: part.at,
      })
    }
    fields = type.children
    const field = fieldNamed(part.name, fields, part.at)
    if (field === undefined) {
      const prefix = names.map(name => `${name}.`).join('')
      const known = fields.map(other => prefix + other.name)
      const inside = names.length === 0 ? pathTo(part.name, fields) : undefined
      const hint = path.length > 1 ? undefined : `for a text, write single quotes: '${cut(part.name)}'`
      throw columnNotFound(prefix + part.name, known, path.length > 1 ? part.at : at, inside, hint)
    }
    names.push(field.name)
    type = field.type
  }
  return new ColumnNode(names, type)
}

/**
 * Return the path of the first struct field with this name, ignoring case. Return undefined if there is no such field.
 */
export function pathTo(name: string, fields: readonly Field[]): string | undefined {
  for (const { name: outer, type } of fields) {
    if (type.kind !== 'struct') continue
    const own = type.children.find(child => child.name.toLowerCase() === name.toLowerCase())
    const inner = own === undefined ? pathTo(name, type.children) : printName(own.name)
    if (inner !== undefined) return `${printName(outer)}.${inner}`
  }
  return undefined
}

/** Return whether a top-level column has exactly this name. */
export function hasColumn(name: string, schema: Schema): boolean {
  return schema.fields.some(field => field.name === name)
}

/**
 * Return the field with exactly this name, otherwise the only field with this name ignoring case. Throws `InvalidInput`
 * if several fields differ from the name only in case.
 */
function fieldNamed(name: string, fields: readonly Field[], at: SourceSpan): Field | undefined {
  const exact = fields.find(field => field.name === name)
  if (exact !== undefined) return exact
  const folded = name.toLowerCase()
  const similar = fields.filter(field => field.name.toLowerCase() === folded)
  if (similar.length > 1) {
    const choices = similar.map(field => quote(field.name)).join(' or ')
    throw invalidInput(`no column is named exactly ${quote(name)}; it could mean ${choices}`, { at })
  }
  return similar[0]
}
