/**
 * Computes repetition and definition levels of Lance. Layer 0 is the innermost layer, the values. A definition level
 * says in which layer an item is null or an empty list; 0 is an item with a value. A repetition level says how many
 * layers of lists begin at the item.
 */
import { type Column, isValid } from '../../../src/arrow/column.js'
import { takeColumn } from '../../../src/arrow/take.js'

/** A layer of a leaf. */
export interface Layer {
  readonly isList: boolean
  /** The definition level of null items. */
  readonly nullLevel: number
  /** The definition level of empty lists. 0 if the items are no lists. */
  readonly emptyLevel: number
}

/** Some rows of a leaf. */
export interface LeafRows {
  readonly rows: number
  /** Number of items with levels. */
  readonly items: number
  /** By item. Null if there are no lists. */
  readonly rep: Uint16Array | null
  /** By item, as `Layer` numbers them. Null if all items have values. */
  readonly def: Uint16Array | null
  /** The values of all items except for those in null and empty lists. */
  readonly values: Column
}

/** Return the columns from a column of the schema to a leaf. */
function columnsOn(column: Column, path: readonly number[]): Column[] {
  const columns = [column]
  for (const child of path) columns.push(columns[columns.length - 1]!.children[child]!)
  return columns
}

/** Return the layers of a leaf, innermost layer first. */
export function layersOf(column: Column, path: readonly number[]): Layer[] {
  let level = 0
  return columnsOn(column, path)
    .reverse()
    .map(({ offsets, children }) => {
      const isList = offsets !== null && children.length > 0
      return { isList, nullLevel: ++level, emptyLevel: isList ? ++level : 0 }
    })
}

/** Compute the levels of all rows of a column for one leaf. */
export function leafRows(column: Column, path: readonly number[], layers: readonly Layer[]): LeafRows {
  let lists = layers.filter(layer => layer.isList).length
  let items: Items = {
    rep: lists === 0 ? null : new Uint16Array(column.length).fill(lists),
    def: null,
    slots: null,
    length: column.length,
  }
  const columns = columnsOn(column, path)
  for (const [i, current] of columns.entries()) {
    const layer = layers[layers.length - 1 - i]!
    items = layer.isList ? openLists(items, current, layer, --lists) : markNulls(items, current, layer)
  }
  const { rep, def, slots, length } = items
  return {
    rows: column.length,
    items: length,
    rep,
    def,
    values: visible(columns[columns.length - 1]!, slots),
  }
}

/** Items with levels. `slots`: by item its row of the current column, or -1 in a null or empty list. Null: all rows. */
interface Items {
  readonly length: number
  readonly rep: Uint16Array | null
  readonly def: Uint16Array | null
  readonly slots: Int32Array | null
}

function markNulls(items: Items, column: Column, { nullLevel }: Layer): Items {
  if (column.nullCount === 0) return items
  const { length, slots } = items
  const def = items.def ?? new Uint16Array(length)
  for (let i = 0; i < length; i++) {
    const slot = slots === null ? i : slots[i]!
    if (slot >= 0 && def[i] === 0 && !isValid(column, slot)) def[i] = nullLevel
  }
  return { ...items, def }
}

/** Replace each list by its elements, and each null or empty list by one item without value. */
function openLists(items: Items, column: Column, layer: Layer, rep: number): Items {
  const { offsets, nullCount } = column
  const { def } = items
  const lengthOf = (i: number, slot: number): number => {
    if (slot < 0 || (def !== null && def[i] !== 0) || (nullCount > 0 && !isValid(column, slot))) return 0
    return offsets![slot + 1]! - offsets![slot]!
  }
  let length = 0
  let hasDef = def !== null
  for (let i = 0; i < items.length; i++) {
    const count = lengthOf(i, items.slots === null ? i : items.slots[i]!)
    length += count === 0 ? 1 : count
    if (count === 0) hasDef = true
  }
  const out = {
    length,
    rep: new Uint16Array(length).fill(rep),
    def: hasDef ? new Uint16Array(length) : null,
    slots: new Int32Array(length),
  }
  for (let i = 0, at = 0; i < items.length; i++) {
    const slot = items.slots === null ? i : items.slots[i]!
    const count = lengthOf(i, slot)
    out.rep[at] = items.rep![i]!
    if (count === 0) {
      const level = def === null ? 0 : def[i]!
      out.def![at] = level !== 0 ? level : isValid(column, slot) ? layer.emptyLevel : layer.nullLevel
      out.slots[at++] = -1
    } else {
      for (let from = offsets![slot]!, end = from + count; from < end; from++) out.slots[at++] = from
    }
  }
  return out
}

/** Return the rows of a leaf that have a slot, without those that null lists hide. */
function visible(column: Column, slots: Int32Array | null): Column {
  if (slots === null) return column
  const rows = slots.filter(slot => slot >= 0)
  const isWhole = rows.length === column.length && rows.every((row, i) => row === i)
  return isWhole ? column : takeColumn(column, rows)
}

/** The value of the enum `RepDefLayer` for a layer of a page. */
type LayerKind = 1 | 2 | 3 | 4 | 5 | 6

/** The levels of a page: those that occur or that LanceDB needs, numbered without gaps. */
export interface PageLevels {
  readonly rep: Uint16Array | null
  readonly def: Uint16Array | null
  /** The values of `RepDefLayer` of encodings_v2_1.proto, innermost layer first. */
  readonly layers: readonly LayerKind[]
  readonly maxRep: number
  readonly maxDef: number
  /** The highest definition level of an item that has a value. */
  readonly maxVisible: number
}

/** Number the levels of a page. */
export function pageLevels(
  rep: Uint16Array | null,
  def: Uint16Array | null,
  layers: readonly Layer[],
): PageLevels {
  const used = new Uint16Array(2 * layers.length + 1)
  if (def !== null) for (let i = 0; i < def.length; i++) used[def[i]!] = 1
  let maxDef = 0
  let maxVisible = 0
  let isInside = true
  const numbers = new Uint16Array(used.length)
  const outermost = layers.findLastIndex(({ nullLevel, emptyLevel }) => {
    return used[nullLevel] === 1 || (emptyLevel > 0 && used[emptyLevel] === 1)
  })
  const kinds = layers.map(({ isList, nullLevel, emptyLevel }, layer): LayerKind => {
    const hasEmpty = isList && used[emptyLevel] === 1
    // LanceDB cannot read a list without a level of its own in an item that is null further outside.
    const hasNulls = used[nullLevel] === 1 || (isList && !hasEmpty && layer < outermost)
    if (hasNulls) numbers[nullLevel] = ++maxDef
    if (hasEmpty) numbers[emptyLevel] = ++maxDef
    if (isList) isInside = false
    if (isInside) maxVisible = maxDef
    if (!isList) return hasNulls ? 3 : 1
    return hasNulls ? (hasEmpty ? 6 : 4) : hasEmpty ? 5 : 2
  })
  const maxRep = layers.filter(layer => layer.isList).length
  if (def === null || maxDef === 0) return { rep, def: null, layers: kinds, maxRep, maxDef, maxVisible }
  return { rep, def: def.map(level => numbers[level]!), layers: kinds, maxRep, maxDef, maxVisible }
}
