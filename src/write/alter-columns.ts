/**
 * Plans alterations of columns: computes the new schema, and conditions that the existing rows must meet.
 *
 * All paths in one call use the names before the call. So one call can swap the names `a` and `b`.
 */

import { typeFromJson } from '../arrow/schema-from-json.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput, quote, schemaMismatch } from '../errors.js'
import {
  edited,
  type FieldEdit,
  type FieldNode,
  fieldOf,
  findField,
  nodeOf,
  typeOf,
  withType,
} from '../manifest/field-node.js'
import type { NumberedSchema, TableField, TableSchema } from '../manifest/table-schema.js'
import { inBackticks } from '../primitives/in-backticks.js'
import type { AlteredVirtualColumn, ColumnAlteration } from '../protocol/schema-shapes.js'
import { checkNames } from './conform.js'
import { checkFree, definingPart, definitionOf, isMaintained, redefined } from './definitions.js'
import { checkCastable } from './reshape-columns.js'

/** A condition that makes an alteration fail if it is true for any row. */
export interface Obstacle {
  /** Path of the altered column, for messages. */
  readonly path: string
  /** SQL condition over the columns before the alteration. */
  readonly condition: string
}

/** The new schema of a table, and the conditions that prevent it. */
interface Alterations extends NumberedSchema {
  /** One condition for each column that becomes non-nullable: the alteration fails if a row is null there. */
  readonly obstacles: readonly Obstacle[]
}

/**
 * Plan alterations. `firstField`: the id of the next new field. Throws `ColumnNotFound` for an unknown path. Throws
 * `SchemaValidation` for a name that exists or a type without a cast. Throws `InvalidInput` for alterations that
 * conflict with each other.
 */
export function planAlterations(
  alterations: readonly ColumnAlteration[],
  schema: TableSchema,
  firstField: number,
): Alterations {
  let nextField = firstField
  const edits = new Map<number, FieldEdit>()
  const retyped = new Set<number>()
  const obstacles: Obstacle[] = []
  const retype = (node: FieldNode, type: DataType): FieldNode => {
    const typed = withType(node, type, nextField)
    nextField = typed.nextField
    return typed.node
  }
  for (const { path, rename, nullable, data_type, virtual_column } of alterations) {
    const chain = findField(schema, path)
    const node = chain.at(-1)!
    if (edits.has(node.id)) throw invalidInput(`one call cannot alter column ${quote(path)} twice`)
    if (nullable === false && node.nullable) obstacles.push({ path, condition: isNullCondition(chain) })
    const type = data_type === undefined ? null : typeFromJson(data_type)
    if (type !== null) {
      if (definitionOf(node) !== null) {
        throw schemaMismatch(
          `the type of column ${quote(path)} cannot be altered, because its definition determines the type`,
          {
            hint: 'drop the column, and add it with another type',
          },
        )
      }
      checkCastable(typeOf(node), type, path)
      retyped.add(node.id)
    }
    edits.set(node.id, now => {
      const typed = type === null ? now : retype(now, type)
      const defined = virtual_column === undefined ? typed : redefine(typed, virtual_column, schema)
      return { ...defined, name: rename ?? now.name, nullable: nullable ?? now.nullable }
    })
  }
  for (const { path } of alterations) {
    const outer = findField(schema, path)
      .slice(0, -1)
      .find(({ id }) => retyped.has(id))
    if (outer !== undefined)
      throw invalidInput(
        `one call cannot alter column ${quote(path)} and the type of ${quote(outer.name)}, which contains it`,
      )
  }
  return { schema: withEdits(schema, edits), nextField, obstacles }
}

/** Change the inputs or the function of a virtual column. Throws `ColumnNotFound` for an unknown input column. */
function redefine(node: FieldNode, changes: AlteredVirtualColumn, schema: TableSchema): FieldNode {
  const definition = definitionOf(node)
  if (definition?.kind !== 'virtual') {
    throw schemaMismatch(`column ${quote(node.name)} is not a virtual column`, {
      hint: 'only a column that was added with a function (virtual_column) can get another function or other inputs',
    })
  }
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  const column = { ...definition.column, ...Object.fromEntries(given) }
  for (const path of column.input_columns) {
    const input = findField(schema, path)[0]!
    if (input.id < node.id || !isMaintained(input)) continue
    throw schemaMismatch(
      `column ${quote(path)} cannot be an input of ${quote(node.name)}, because it may be computed from it`,
      {
        hint: 'a computed or virtual input must be older than the column',
      },
    )
  }
  return { ...node, metadata: redefined(node.metadata ?? {}, definition.column, column) }
}

/**
 * Return the schema without the columns or struct fields at `paths`. Throws `ColumnNotFound` for an unknown path, and
 * `SchemaValidation` if no column would be left.
 */
export function withoutColumns(schema: TableSchema, paths: readonly string[]): TableSchema {
  const edits = new Map<number, FieldEdit>()
  for (const path of paths) edits.set(findField(schema, path).at(-1)!.id, () => null)
  const now = withEdits(schema, edits)
  if (now.fields.length > 0) return now
  throw schemaMismatch('the last column of a table cannot be dropped', { hint: 'drop the table instead' })
}

/**
 * A change of a field's metadata. The value null removes a key. `replace`: whether to remove all keys that `metadata`
 * does not have; default: false.
 */
interface MetadataUpdate {
  readonly path: string
  readonly metadata: Readonly<Record<string, string | null>>
  readonly replace?: boolean | undefined
}

/**
 * Change the metadata of fields. Returns the new schema, and by path the new metadata of the changed fields. Throws
 * `ColumnNotFound` for an unknown path.
 */
export function withFieldMetadata(
  schema: TableSchema,
  updates: readonly MetadataUpdate[],
): {
  readonly schema: TableSchema
  readonly fields: Readonly<Record<string, Readonly<Record<string, string>>>>
} {
  const edits = new Map<number, FieldEdit>()
  const fields: Record<string, Readonly<Record<string, string>>> = Object.create(null)
  for (const { path, metadata, replace = false } of updates) {
    const { id, metadata: before = {} } = findField(schema, path).at(-1)!
    checkFree(Object.keys(metadata))
    const merged = Object.entries({ ...(replace ? definingPart(before, true) : before), ...metadata })
    const kept = Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null))
    fields[path] = kept
    edits.set(id, ({ metadata: _, ...node }) => {
      return Object.keys(kept).length === 0 ? node : { ...node, metadata: kept }
    })
  }
  return { schema: withEdits(schema, edits), fields: { ...fields } }
}

function withEdits(schema: TableSchema, edits: ReadonlyMap<number, FieldEdit>): TableSchema {
  const fields = schema.fields.flatMap((field): TableField[] => {
    const before = nodeOf(field)
    const after = edited(before, edits)
    if (after === null) return []
    if (after === before) return [field]
    checkStructs(after, after.name)
    return [fieldOf(after)]
  })
  checkNames({ fields })
  return { ...schema, fields }
}

/** Check that a struct has at least one field, and that field names are unique and not empty. */
function checkStructs({ type, children }: FieldNode, path: string): void {
  if (type.kind === 'struct') {
    if (children.length === 0)
      throw schemaMismatch(`the last field of column ${quote(path)} cannot be dropped`, {
        hint: 'drop the column instead',
      })
    const names = new Set<string>()
    for (const { name } of children) {
      if (name === '') throw schemaMismatch(`a field of ${quote(path)} has an empty name`)
      if (names.has(name))
        throw schemaMismatch(`column ${quote(path)} already has a field named ${quote(name)}`)
      names.add(name)
    }
  }
  for (const child of children) checkStructs(child, `${path}.${child.name}`)
}

/** Return an SQL condition that is true if a field is null and the structs that contain it are not null. */
function isNullCondition(chain: readonly FieldNode[]): string {
  const path = (depth: number) =>
    chain
      .slice(0, depth)
      .map(({ name }) => inBackticks(name))
      .join('.')
  const around = chain.slice(0, -1).map((_, i) => `${path(i + 1)} IS NOT NULL`)
  return [...around, `${path(chain.length)} IS NULL`].join(' AND ')
}
