/**
 * Splits a nested column into the columns of a file. Versions 2.1 and 2.2 store the values of each leaf as one column,
 * and lists and nulls of all layers as levels of the leaf.
 */
import { childFields, type DataType } from '../arrow/types.js'
import { invalidInput, quote } from '../errors.js'
import { arrowField, type LanceField, packedMetadataKeys } from './schema.js'

/** A field of a nested column. */
export interface ColumnNode {
  readonly field: LanceField
  readonly type: DataType
  /** `leaf`: has values in the file. `list` includes maps. */
  readonly kind: 'leaf' | 'struct' | 'list' | 'fixed-list'
  readonly children: readonly ColumnNode[]
  /** Number of nodes above. */
  readonly depth: number
}

/** Return the tree of a column. */
export function columnTree(field: LanceField): ColumnNode {
  return nodeOf(field, arrowField(field).type, 0)
}

function nodeOf(field: LanceField, type: DataType, depth: number): ColumnNode {
  const kind = kindOf(field, type)
  if (kind === 'leaf') return { field, type, kind, depth, children: [] }
  if (field.children.length === 0)
    throw invalidInput(`the struct ${quote(field.name)} of a Lance schema has no fields`)
  const types = childFields(type)
  const children = field.children.map((child, i) => nodeOf(child, types[i]!.type, depth + 1))
  return { field, type, kind, depth, children }
}

function kindOf(field: LanceField, type: DataType): ColumnNode['kind'] {
  if (type.kind === 'list' || type.kind === 'map') return 'list'
  if (type.kind === 'fixed_size_list' && field.children.length > 0) return 'fixed-list'
  if (type.kind === 'struct') return isPacked(field) ? 'leaf' : 'struct'
  return 'leaf'
}

/** Return whether a struct is one column of the file. */
export function isPacked(field: LanceField): boolean {
  return field.logicalType === 'blob' || packedMetadataKeys.some(key => isTrue(field.metadata[key]))
}

function isTrue(text: string | undefined): boolean {
  return text !== undefined && ['true', '1', 'yes'].includes(text.toLowerCase())
}

/** A leaf and the layers from the leaf (0) to the column. */
export interface Leaf {
  readonly node: ColumnNode
  /** By layer: whether it is a layer of lists. */
  readonly lists: readonly boolean[]
  /** By layer: the size of its lists if all have the same size, else 0. */
  readonly sizes: readonly number[]
}

/** Return the leaves of a tree, from left to right. */
export function leavesOf(root: ColumnNode): Leaf[] {
  const leaves: Leaf[] = []
  const path: ColumnNode[] = []
  const walk = (node: ColumnNode): void => {
    path.unshift(node)
    if (node.kind === 'leaf') {
      leaves.push({
        node,
        lists: path.map(({ kind }) => kind === 'list'),
        sizes: path.map(({ kind, type }) =>
          kind === 'fixed-list' && type.kind === 'fixed_size_list' ? type.size : 0,
        ),
      })
    } else for (const child of node.children) walk(child)
    path.shift()
  }
  walk(root)
  return leaves
}

/** Return how many rows of the pages of a leaf belong to a row of the column. */
export function rowsPerRow({ lists, sizes }: Leaf): number {
  const outermost = lists.lastIndexOf(true)
  return sizes.reduce((rows, size, layer) => (size > 0 && layer > outermost ? rows * size : rows), 1)
}
