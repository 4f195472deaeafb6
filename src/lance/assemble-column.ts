/** Makes a nested Arrow column of the values and levels of its leaves. */
import type { Column } from '../arrow/column.js'
import { invalidInput, quote } from '../errors.js'
import type { Block } from './block.js'
import type { ColumnNode, Leaf } from './column-tree.js'
import { leafColumn } from './leaf-column.js'
import { keepFirstOfLists, type Levels, layerOffsets, layerSlots, type Slots } from './levels.js'

/** The decoded rows of a leaf. */
export interface LeafRows {
  readonly leaf: Leaf
  readonly blocks: readonly Block[]
  /** By layer: the levels that describe the slots of the layer. */
  readonly levels: readonly Levels[]
}

/** Create the rows of a leaf. `levels`: the unified levels of all its items. */
export function leafRows(leaf: Leaf, blocks: readonly Block[], levels: Levels): LeafRows {
  let current = levels
  const byLayer = leaf.sizes.map((size, layer) => {
    if (size > 0) current = keepFirstOfLists(current, layer - 1, leaf.lists, size)
    return current
  })
  return { leaf, blocks, levels: byLayer }
}

/** Return the column of a tree. `rowsOf`: the rows of each leaf. */
export function assembleColumn(root: ColumnNode, rowsOf: ReadonlyMap<ColumnNode, LeafRows>): Column {
  return assemble(root, rowsOf)
}

function assemble(node: ColumnNode, rowsOf: ReadonlyMap<ColumnNode, LeafRows>): Column {
  const rows = rowsOf.get(firstLeaf(node))!
  const layer = rows.leaf.lists.length - 1 - node.depth
  const { lists } = rows.leaf
  const levels = rows.levels[layer]!
  const slots = layerSlots(levels, layer, lists)
  if (node.kind === 'leaf') return leafColumn(node.type, rows.blocks, slots)
  const children = node.children.map(child => assemble(child, rowsOf))
  const column = { type: node.type, ...slots, values: null, children, dictionary: null }
  if (node.kind === 'list') {
    const offsets = layerOffsets(levels, layer, lists, slots.length)
    checkLength(node, children, offsets[slots.length]!)
    return { ...column, offsets }
  }
  checkLength(node, children, childLength(node, slots))
  return { ...column, offsets: null }
}

function childLength(node: ColumnNode, slots: Slots): number {
  return node.type.kind === 'fixed_size_list' ? slots.length * node.type.size : slots.length
}

function firstLeaf(node: ColumnNode): ColumnNode {
  let leaf = node
  while (leaf.kind !== 'leaf') leaf = leaf.children[0]!
  return leaf
}

function checkLength(node: ColumnNode, children: readonly Column[], length: number): void {
  for (const [i, child] of children.entries()) {
    if (child.length === length) continue
    throw invalidInput(
      `field ${quote(node.children[i]!.field.name)} has ${child.length} values, but its parent ${quote(node.field.name)} needs ${length}`,
    )
  }
}
