/**
 * Repetition and definition levels of Lance: one pair for each item, which says where lists begin and which values are
 * null. Layer 0 is the innermost layer, the values. In contrast to Parquet, level 0 is the innermost level.
 *
 * The pages of a column may number their definition levels differently, because a page has no levels for nulls or empty
 * lists that it does not contain. So `unifyLevels` translates them to the levels of the type: one level for each layer of
 * items, and two for each layer of lists (null, then empty).
 */
import { bitmapBytes } from '../arrow/bits.js'
import { invalidInput } from '../errors.js'
import type { Layer } from './encoding.js'

/** The levels of consecutive items. */
export interface Levels {
  /** Number of items. */
  readonly entries: number
  /** By item: how many layers of lists begin there. Null if the type has no lists. */
  readonly rep: Uint16Array | null
  /** By item: the layer that is null or an empty list, or 0 if the item has a value. Null if all items have one. */
  readonly def: Uint16Array | null
}

/** The layer in which a definition level stands for a null or an empty list. Level 0 has the layer -1. */
interface Meaning {
  readonly layer: number
  readonly isEmptyList: boolean
}

const hasValue: Meaning = { layer: -1, isEmptyList: false }

/** Return the meaning of each definition level of a page. */
function pageMeanings(layers: readonly Layer[]): Meaning[] {
  const meanings = [hasValue]
  for (const [layer, { hasNulls, hasEmpty }] of layers.entries()) {
    if (hasNulls) meanings.push({ layer, isEmptyList: false })
    if (hasEmpty) meanings.push({ layer, isEmptyList: true })
  }
  return meanings
}

/** Return the meaning of each unified level. `lists`: by layer, whether its items are lists. */
function unifiedMeanings(lists: readonly boolean[]): Meaning[] {
  return pageMeanings(lists.map(isList => ({ isList, hasNulls: true, hasEmpty: isList })))
}

/** Return whether items of a level have a slot in a layer. They have none inside of a null or empty list. */
function isVisible(meaning: Meaning, layer: number, lists: readonly boolean[]): boolean {
  for (let i = layer + 1; i <= meaning.layer; i++) if (lists[i]) return false
  return true
}

/** By definition level of a page: 1 if items of this level have a value (perhaps null) in the page. */
export function visibleLevels(layers: readonly Layer[]): Uint8Array {
  const lists = layers.map(layer => layer.isList)
  return Uint8Array.from(pageMeanings(layers), meaning => (isVisible(meaning, 0, lists) ? 1 : 0))
}

/** Return the number of layers of lists. */
export function listDepth(layers: readonly Layer[]): number {
  return layers.filter(layer => layer.isList).length
}

/** Count the items of `def` from `start` to `end` that have a value in the page. `visible`: from `visibleLevels`. */
export function countVisible(def: Uint16Array, visible: Uint8Array, start: number, end: number): number {
  let count = 0
  for (let i = start; i < end; i++) {
    const level = def[i]!
    if (level >= visible.length) throw badLevel(level, visible.length)
    count += visible[level]!
  }
  return count
}

function badLevel(level: number, levels: number): Error {
  return invalidInput(`a page has the level ${level}, but its layers have the levels 0 to ${levels - 1}`)
}

/** Translate the definition levels of a page to those of the type, and check all levels. */
export function unifyLevels(levels: Levels, layers: readonly Layer[], lists: readonly boolean[]): Levels {
  if (layers.length !== lists.length || layers.some((layer, i) => layer.isList !== lists[i])) {
    throw invalidInput(
      `a page has levels for ${layers.length} layers, which do not fit the ${lists.length} layers of its column`,
    )
  }
  const { rep, def, entries } = levels
  const depth = listDepth(layers)
  if ((rep === null) !== (depth === 0)) throw invalidInput('a page of lists has no repetition levels')
  if (rep !== null) {
    for (let i = 0; i < entries; i++) if (rep[i]! > depth) throw badLevel(rep[i]!, depth + 1)
  }
  if (def === null) return levels
  const unified = unifiedMeanings(lists)
  const table = Uint16Array.from(pageMeanings(layers), meaning =>
    unified.findIndex(
      ({ layer, isEmptyList }) => layer === meaning.layer && isEmptyList === meaning.isEmptyList,
    ),
  )
  const out = new Uint16Array(entries)
  for (let i = 0; i < entries; i++) {
    const level = def[i]!
    if (level >= table.length) throw badLevel(level, table.length)
    out[i] = table[level]!
  }
  return { entries, rep, def: out }
}

/** Join unified levels. */
export function concatLevels(pieces: readonly Levels[]): Levels {
  const [first] = pieces
  if (first !== undefined && pieces.length === 1) return first
  let entries = 0
  for (const piece of pieces) entries += piece.entries
  const hasRep = pieces.some(piece => piece.rep !== null)
  const rep = hasRep ? new Uint16Array(entries) : null
  const def = pieces.some(piece => piece.def !== null) ? new Uint16Array(entries) : null
  let at = 0
  for (const piece of pieces) {
    if (piece.rep !== null) rep?.set(piece.rep, at)
    if (piece.def !== null) def?.set(piece.def, at)
    at += piece.entries
  }
  return { entries, rep, def }
}

/** Which items have a slot in a layer, and what the slot is. */
interface LayerView {
  /** Minimum repetition level of an item that begins a slot. */
  readonly minRep: number
  /** By definition level: 1 if the item has a slot. */
  readonly visible: Uint8Array
  /** By definition level: 1 if the slot is not null. */
  readonly valid: Uint8Array
}

function viewLayer(layer: number, lists: readonly boolean[]): LayerView {
  const meanings = unifiedMeanings(lists)
  let minRep = lists[layer] ? 1 : 0
  for (let i = 0; i < layer; i++) if (lists[i]) minRep++
  return {
    minRep,
    visible: Uint8Array.from(meanings, meaning => (isVisible(meaning, layer, lists) ? 1 : 0)),
    valid: Uint8Array.from(meanings, meaning =>
      meaning.layer < layer || (meaning.layer === layer && meaning.isEmptyList) ? 1 : 0,
    ),
  }
}

/** The nulls of the slots of a layer. */
export interface Slots {
  readonly length: number
  readonly nullCount: number
  readonly validity: Uint8Array | null
}

/** Return the nulls of a layer. `lists`: by layer, whether it is a layer of lists. */
export function layerSlots(levels: Levels, layer: number, lists: readonly boolean[]): Slots {
  const { rep, def, entries } = levels
  if (rep === null && def === null) return { length: entries, nullCount: 0, validity: null }
  const { minRep, visible, valid } = viewLayer(layer, lists)
  const validity = new Uint8Array(bitmapBytes(entries))
  let length = 0
  let nullCount = 0
  for (let i = 0; i < entries; i++) {
    if (rep !== null && rep[i]! < minRep) continue
    const level = def === null ? 0 : def[i]!
    if (visible[level] === 0) continue
    if (valid[level] === 1) validity[length >>> 3]! |= 1 << (length & 7)
    else nullCount++
    length++
  }
  return { length, nullCount, validity: nullCount === 0 ? null : validity }
}

/** Return the offsets of a layer of lists. */
export function layerOffsets(
  levels: Levels,
  layer: number,
  lists: readonly boolean[],
  length: number,
): Int32Array {
  const { rep, def, entries } = levels
  const own = viewLayer(layer, lists)
  const child = viewLayer(layer - 1, lists)
  const offsets = new Int32Array(length + 1)
  let slot = 0
  let children = 0
  for (let i = 0; i < entries; i++) {
    const begun = rep![i]!
    const level = def === null ? 0 : def[i]!
    if (begun >= own.minRep && own.visible[level] === 1) offsets[slot++] = children
    if (begun >= child.minRep && child.visible[level] === 1) children++
  }
  offsets[slot] = children
  return offsets
}

/**
 * Return the levels for the layers outside of a layer of lists with `size` items: of each list, the levels of its first
 * item. `layer`: the layer of the items.
 */
export function keepFirstOfLists(
  levels: Levels,
  layer: number,
  lists: readonly boolean[],
  size: number,
): Levels {
  const { minRep, visible } = viewLayer(layer, lists)
  const { rep, def, entries } = levels
  const keptRep = rep === null ? null : new Uint16Array(entries)
  const keptDef = def === null ? null : new Uint16Array(entries)
  let kept = 0
  let slot = 0
  for (let i = 0; i < entries; i++) {
    const level = def === null ? 0 : def[i]!
    if (rep !== null && rep[i]! < minRep) continue
    if (visible[level] === 1 && slot++ % size !== 0) continue
    if (keptRep !== null) keptRep[kept] = rep![i]!
    if (keptDef !== null) keptDef[kept] = level
    kept++
  }
  return {
    entries: kept,
    rep: keptRep === null ? null : keptRep.subarray(0, kept),
    def: keptDef === null ? null : keptDef.subarray(0, kept),
  }
}
