/**
 * The fields of a table as trees. With a tree, a nested field can be found by its path and edited by its id.
 *
 * A path is the names from a column down to a field of a struct, joined by dots: `meta.lang`. A column name may contain
 * dots too. If a column has exactly the path as its name, the path means this column.
 */
import { childFields, type DataType, type Field } from '../arrow/types.js'
import { columnNotFound } from '../errors.js'
import { inBackticks } from '../primitives/in-backticks.js'
import { lazyPattern } from '../primitives/lazy-pattern.js'
import { columnOfField, descendants, type TableField, type TableSchema } from './table-schema.js'

/** A field and its descendants. */
export interface FieldNode extends Omit<Field, 'type'> {
  readonly id: number
  /** The type of the field. The types of nested fields are ignored: use those of `children`. */
  readonly type: DataType
  readonly children: readonly FieldNode[]
}

/** Build the tree of a column. */
export function nodeOf({ id, nested = [], ...field }: TableField): FieldNode {
  let next = 0
  const build = (of: Field, own: number): FieldNode => {
    return { ...of, id: own, children: childFields(of.type).map(child => build(child, nested[next++]!)) }
  }
  return build(field, id)
}

/** Convert a tree to a column. */
export function fieldOf(node: FieldNode): TableField {
  const { children, ...own } = node
  const nested = idsBelow(node)
  return { ...own, type: typeOf(node), ...(nested.length > 0 && { nested }) }
}

/** Return the type of a node, including the types of its descendants. */
export function typeOf({ type, children }: FieldNode): DataType {
  const fields = children.map((node): Field => {
    const { name, nullable, metadata } = node
    return { name, type: typeOf(node), nullable, ...(metadata !== undefined && { metadata }) }
  })
  if (type.kind === 'struct') return { ...type, children: fields }
  return 'child' in type ? { ...type, child: fields[0]! } : type
}

function idsBelow({ children }: FieldNode): readonly number[] {
  return children.flatMap(child => [child.id, ...idsBelow(child)])
}

/**
 * Return a copy of `node` with another type. If the number of descendants does not change, they keep their ids.
 * Otherwise they get new ids from `nextField` on.
 */
export function withType(
  node: FieldNode,
  type: DataType,
  nextField: number,
): { readonly node: FieldNode; readonly nextField: number } {
  const count = descendants(type)
  const before = idsBelow(node)
  const keeps = before.length === count
  const nested = keeps ? before : Array.from({ length: count }, (_, i) => nextField + i)
  const { children: _, ...own } = node
  return { node: nodeOf({ ...own, type, nested }), nextField: keeps ? nextField : nextField + count }
}

/** Return the nodes from the column down to the field with the id `id`. Returns null if there is no such field. */
export function findFieldById(schema: TableSchema, id: number): readonly FieldNode[] | null {
  const column = columnOfField(schema, id)
  if (column === undefined) return null
  const chain: FieldNode[] = []
  const search = (node: FieldNode): boolean => {
    chain.push(node)
    if (node.id === id || node.children.some(search)) return true
    chain.pop()
    return false
  }
  search(nodeOf(column))
  return chain
}

const special = lazyPattern(String.raw`[^\p{Alphabetic}\p{N}_]`, 'u')

/**
 * Return the path of a field in the syntax of `findField`. A name with a character other than letters, digits and `_`
 * is put in backticks.
 */
export function pathText(chain: readonly FieldNode[]): string {
  return chain.map(({ name }) => (special().test(name) ? inBackticks(name) : name)).join('.')
}

/**
 * Find a field by its path. Returns the nodes from the column down to the field.
 *
 * A path is names joined by dots. A name may be in backticks, as in SQL: `` `row-id` ``, `` a.`x.y` ``. A backtick
 * inside of a name is doubled. If a column has exactly the path as its name, this column is returned. Throws
 * ColumnNotFound.
 */
export function findField(schema: TableSchema, path: string): readonly FieldNode[] {
  const columns = schema.fields.map(nodeOf)
  const found = search(columns, path) ?? walk(columns, quotedNames(path))
  if (found !== null) return found
  const known = columns.flatMap(column => pathsIn(column, ''))
  throw columnNotFound(path, known)
}

function search(nodes: readonly FieldNode[], path: string): readonly FieldNode[] | null {
  const exact = nodes.find(({ name }) => name === path)
  if (exact !== undefined) return [exact]
  for (const node of nodes) {
    if (node.type.kind !== 'struct' || !path.startsWith(`${node.name}.`)) continue
    const below = search(node.children, path.slice(node.name.length + 1))
    if (below !== null) return [node, ...below]
  }
  return null
}

/** Split a path that has names in backticks. Returns null if no name is in backticks, or if the path is invalid. */
function quotedNames(path: string): readonly string[] | null {
  const name = /`(?:[^`]|``)+`|[^`.]+/y
  const names: string[] = []
  for (let at = 0; ; at = name.lastIndex + 1) {
    name.lastIndex = at
    const [text] = name.exec(path) ?? []
    if (text === undefined) return null
    names.push(text.startsWith('`') ? text.slice(1, -1).replaceAll('``', '`') : text)
    if (name.lastIndex === path.length) return path.includes('`') ? names : null
    if (path[name.lastIndex] !== '.') return null
  }
}

/**
 * Return the nodes from the column `names[0]` down to the field that the names lead to. Returns null if there is no
 * such field.
 */
export function findFieldByNames(schema: TableSchema, names: readonly string[]): readonly FieldNode[] | null {
  return walk(schema.fields.map(nodeOf), names)
}

function walk(nodes: readonly FieldNode[], names: readonly string[] | null): readonly FieldNode[] | null {
  if (names === null) return null
  const chain: FieldNode[] = []
  for (const name of names) {
    const among: readonly FieldNode[] = chain.length === 0 ? nodes : structFields(chain.at(-1)!)
    const found = among.find(node => node.name === name)
    if (found === undefined) return null
    chain.push(found)
  }
  return chain
}

function structFields(node: FieldNode): readonly FieldNode[] {
  return node.type.kind === 'struct' ? node.children : []
}

function pathsIn(node: FieldNode, prefix: string): readonly string[] {
  const own = prefix + node.name
  if (node.type.kind !== 'struct') return [own]
  return [own, ...node.children.flatMap(child => pathsIn(child, `${own}.`))]
}

/** A function that edits a field after its children were edited. It returns null to drop the field. */
export type FieldEdit = (node: FieldNode) => FieldNode | null

/** Apply edits to a tree. `edits`: by field id. Returns null if the whole tree is dropped. */
export function edited(node: FieldNode, edits: ReadonlyMap<number, FieldEdit>): FieldNode | null {
  const children = node.children
    .map(child => edited(child, edits))
    .filter((child): child is FieldNode => child !== null)
  const isSame = children.length === node.children.length && children.every((c, i) => c === node.children[i])
  const now = isSame ? node : { ...node, children }
  const edit = edits.get(node.id)
  return edit === undefined ? now : edit(now)
}
