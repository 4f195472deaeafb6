/**
 * Plans how the columns of a file become columns of Arrow.
 *
 * The schema of the file gives each leaf its type. A second schema, which the writer recorded or the caller gave, has the
 * types that Parquet cannot express, for example vectors and time zones. Such a type is used where the leaves have its
 * storage.
 */

import { equalTypes } from '../../../src/arrow/same-type.js'
import { typeName } from '../../../src/arrow/type-name.js'
import type { DataType, Field } from '../../../src/arrow/types.js'
import { quote, schemaMismatch, unsupported } from '../../../src/errors.js'
import { brokenParquet } from './fault.js'
import type { SchemaNode } from './metadata.js'

interface PlanBase {
  readonly field: Field
  /** The first leaf of the node. Its levels give the rows of the node. */
  readonly leaf: SchemaNode
  /** The definition level at which the parent of the node is present. Below this level, the node has no row. */
  readonly parentLevel: number
  /** The definition level at which a row of the node is not null. */
  readonly level: number
  /** The number of repeated nodes above the node. */
  readonly repeated: number
}

/** How a node of the schema becomes a column. */
export type ReadPlan = LeafPlan | StructPlan | ListPlan

export interface LeafPlan extends PlanBase {
  readonly kind: 'leaf'
  /** The type of the values: without the dictionary, if the column is to have one. */
  readonly value: DataType
  /** The stored values are a multiple of this number. */
  readonly divisor: bigint
}

interface StructPlan extends PlanBase {
  readonly kind: 'struct'
  readonly children: readonly ReadPlan[]
}

export interface ListPlan extends PlanBase {
  readonly kind: 'list'
  readonly child: ReadPlan
}

/** The place of a node: where its rows begin, and whether all types of the second schema must be used. */
interface Place {
  readonly path: string
  readonly parentLevel: number
  readonly repeated: number
  /** Whether a type of the second schema that does not fit is an error. */
  readonly isStrict: boolean
  /** Whether the node is the entries of a map, whose fields are a key and a value of any name. */
  readonly isEntries?: boolean
}

/**
 * Plan the columns of a file. `wanted`: the field of the second schema by name of the column. `isStrict`: the caller gave
 * these fields, so a type that does not fit is an error.
 * @throws SchemaValidation for a type of the caller that does not fit; InvalidInput for an invalid schema of the file.
 */
export function planColumns(
  root: SchemaNode,
  wanted: ReadonlyMap<string, Field>,
  isStrict: boolean,
): ReadPlan[] {
  const names = new Set<string>()
  return root.children.map(node => {
    if (names.has(node.name)) throw brokenParquet(`it has two columns with the name ${quote(node.name)}`)
    names.add(node.name)
    return planNode(node, wanted.get(node.name), { path: node.name, parentLevel: 0, repeated: 0, isStrict })
  })
}

function planNode(node: SchemaNode, given: Field | undefined, place: Place): ReadPlan {
  const wanted = given === undefined ? undefined : asStored(node, given)
  // A repeated node without a list around it is a list of required values.
  if (node.repetition === 'repeated') return planList(node, node, node, wanted, place)
  if (node.physical !== null) return planLeaf(node, wanted, place)
  if (node.children.length === 0) throw unsupported(`column ${quote(place.path)} is a struct without fields`)
  const only = node.children.length === 1 ? node.children[0]! : null
  if (node.annotation.kind === 'list' && only?.repetition === 'repeated')
    return planList(node, only, elementOf(node, only), wanted, place)
  if (node.annotation.kind === 'map' && only?.repetition === 'repeated' && only.children.length === 2)
    return planList(node, only, only, wanted, place)
  return planStruct(node, wanted, place)
}

/** Nested values are read without a dictionary. */
function asStored(node: SchemaNode, field: Field): Field {
  const { type } = field
  return node.physical === null && type.kind === 'dictionary' ? { ...field, type: type.value } : field
}

/**
 * Return the node of the elements of a list. Usually it is the only child of the repeated node. Older writers used the
 * repeated node itself (LogicalTypes.md, "Backward-compatibility rules").
 */
function elementOf(list: SchemaNode, repeated: SchemaNode): SchemaNode {
  const isElement =
    repeated.physical !== null ||
    repeated.children.length !== 1 ||
    repeated.children[0]!.repetition === 'repeated' ||
    repeated.name === 'array' ||
    repeated.name === `${list.name}_tuple`
  return isElement ? repeated : repeated.children[0]!
}

function base(node: SchemaNode, place: Place): Omit<PlanBase, 'field'> {
  const isRepeated = node.repetition === 'repeated'
  return {
    leaf: firstLeaf(node),
    parentLevel: place.parentLevel,
    level: node.definition - (isRepeated ? 1 : 0),
    repeated: place.repeated,
  }
}

function firstLeaf(node: SchemaNode): SchemaNode {
  let first = node
  while (first.physical === null) {
    const child = first.children[0]
    if (child === undefined) throw unsupported(`the file has a struct without fields: ${quote(first.name)}`)
    first = child
  }
  return first
}

function isNullable(node: SchemaNode, wanted: Field | undefined): boolean {
  return node.repetition === 'optional' || (node.repetition === 'required' && wanted?.nullable === true)
}

function fieldOf(node: SchemaNode, type: DataType, wanted: Field | undefined): Field {
  const metadata = wanted?.metadata
  return {
    name: wanted?.name ?? node.name,
    type,
    nullable: isNullable(node, wanted),
    ...(metadata !== undefined && { metadata }),
  }
}

function planStruct(node: SchemaNode, wanted: Field | undefined, place: Place): ReadPlan {
  const fields = wanted?.type.kind === 'struct' ? wanted.type.children : []
  const { isEntries = false, ...around } = place
  if (place.isStrict && wanted !== undefined && !isEntries) {
    const names = fields.map(({ name }) => name).join('\0')
    if (wanted.type.kind !== 'struct' || names !== node.children.map(({ name }) => name).join('\0'))
      throw misfit(wanted, place, 'a struct with other fields')
  }
  const names = new Set(node.children.map(({ name }) => name))
  if (names.size < node.children.length)
    throw brokenParquet(`the struct ${quote(place.path)} has two fields with one name`)
  const children = node.children.map((child, i) =>
    planNode(child, isEntries ? fields[i] : fields.find(({ name }) => name === child.name), {
      ...around,
      path: `${place.path}.${child.name}`,
    }),
  )
  const type: DataType = { kind: 'struct', children: children.map(({ field }) => field) }
  return { ...base(node, place), kind: 'struct', field: fieldOf(node, type, wanted), children }
}

function planList(
  node: SchemaNode,
  repeated: SchemaNode,
  element: SchemaNode,
  wanted: Field | undefined,
  place: Place,
): ReadPlan {
  const type = wanted?.type
  const isMap = node !== repeated && node.annotation.kind === 'map'
  const asList = type?.kind === 'list' || type?.kind === 'fixed_size_list' ? type : null
  const asMap = type?.kind === 'map' ? type : null
  if (place.isStrict && type !== undefined && (isMap ? asMap : asList) === null)
    throw misfit(wanted!, place, isMap ? 'a map' : 'a list')
  const inside: Place = {
    ...place,
    path: `${place.path}[]`,
    parentLevel: repeated.definition,
    repeated: place.repeated + 1,
  }
  const around = { ...base(node, place), kind: 'list' as const }
  if (isMap) {
    const entries = planStruct(repeated, asMap?.child ?? { ...entriesField(repeated), name: 'entries' }, {
      ...inside,
      isEntries: true,
    })
    // The rows of the entries are the elements of the list, so they are never null.
    const child = { ...entries, level: repeated.definition, field: { ...entries.field, nullable: false } }
    const map: DataType = { kind: 'map', keysSorted: asMap?.keysSorted ?? false, child: child.field }
    return { ...around, field: fieldOf(node, map, wanted), child }
  }
  const child =
    element === repeated
      ? planElement(element, asList?.child, inside)
      : planNode(element, asList?.child, inside)
  const list: DataType =
    asList?.kind === 'fixed_size_list'
      ? { ...asList, child: child.field }
      : { kind: 'list', large: asList?.large ?? false, child: child.field }
  return { ...around, field: fieldOf(node, list, wanted), child }
}

/** Plan the elements of a list whose repeated node is the element itself. They are never null. */
function planElement(repeated: SchemaNode, wanted: Field | undefined, place: Place): ReadPlan {
  return planNode({ ...repeated, repetition: 'required' }, wanted, place)
}

function entriesField(node: SchemaNode): Field {
  return { name: node.name, type: { kind: 'struct', children: [] }, nullable: false }
}

function planLeaf(node: SchemaNode, wanted: Field | undefined, place: Place): ReadPlan {
  const stored = storedType(node)
  const hint = wanted?.type
  const read = hint === undefined ? { value: stored, divisor: 1n } : readAs(node, stored, hint)
  if (read === null && place.isStrict) throw misfit(wanted!, place, typeName(stored))
  const { value, divisor } = read ?? { value: stored, divisor: 1n }
  const type = read !== null && hint?.kind === 'dictionary' ? { ...hint, value } : value
  const isNull = type.kind === 'null'
  const field = fieldOf(node, type, wanted)
  return {
    ...base(node, place),
    kind: 'leaf',
    field: isNull ? { ...field, nullable: true } : field,
    value,
    divisor,
  }
}

function misfit(wanted: Field, place: Place, stored: string) {
  return schemaMismatch(
    `readParquet: schema: column ${quote(place.path)} has type ${typeName(wanted.type)}, but the file has ${stored}`,
    { hint: 'give the type of the file, or leave out the option schema and cast the column afterwards' },
  )
}

/** Return the type that the schema of the file gives a leaf. */
function storedType(node: SchemaNode): DataType {
  const { annotation, physical, width } = node
  switch (physical) {
    case 'boolean':
      return { kind: 'bool' }
    case 'int32':
      return storedInt(node, 32)
    case 'int64':
      return storedInt(node, 64)
    case 'int96':
      return { kind: 'timestamp', unit: 'ns', timezone: null }
    case 'float':
      return { kind: 'float', bits: 32 }
    case 'double':
      return { kind: 'float', bits: 64 }
    case 'byte_array':
      if (annotation.kind === 'text') return { kind: 'utf8', large: false }
      if (annotation.kind === 'decimal') return decimalType(node, 76)
      return annotation.kind === 'null' ? { kind: 'null' } : { kind: 'binary', large: false }
    default:
      if (annotation.kind === 'decimal') return decimalType(node, 76)
      if (annotation.kind === 'float16' && width === 2) return { kind: 'float', bits: 16 }
      if (annotation.kind === 'interval' && width === 12) return { kind: 'interval', unit: 'month_day_nano' }
      return annotation.kind === 'null' ? { kind: 'null' } : { kind: 'fixed_size_binary', width }
  }
}

function storedInt(node: SchemaNode, bits: 32 | 64): DataType {
  const { annotation } = node
  switch (annotation.kind) {
    case 'int':
      // Integers of 64 bits cannot be stored in 32 bits.
      if (annotation.bits <= bits) return { kind: 'int', bits: annotation.bits, signed: annotation.signed }
      break
    case 'decimal':
      return decimalType(node, bits === 32 ? 9 : 18)
    case 'date':
      if (bits === 32) return { kind: 'date', unit: 'day' }
      break
    case 'time':
      if ((annotation.unit === 'ms') === (bits === 32)) return { kind: 'time', unit: annotation.unit }
      break
    case 'timestamp':
      if (bits === 64)
        return { kind: 'timestamp', unit: annotation.unit, timezone: annotation.utc ? 'UTC' : null }
      break
    case 'null':
      return { kind: 'null' }
  }
  return { kind: 'int', bits, signed: true }
}

function decimalType(node: SchemaNode, digits: number): DataType {
  const { annotation } = node
  if (annotation.kind !== 'decimal') throw brokenParquet(`column ${quote(node.name)} is not a decimal`)
  const { precision, scale } = annotation
  const isValid = precision >= 1 && precision <= digits && scale <= precision
  if (!isValid || node.width > 32) {
    throw brokenParquet(
      `column ${quote(node.name)} is a decimal with the invalid precision ${precision}, scale ${scale} or width`,
    )
  }
  return { kind: 'decimal', bits: precision > 38 ? 256 : 128, precision, scale }
}

/**
 * Return how a leaf is read as a type of the second schema, or null if the leaf does not have the storage of this type
 * (`write-plan.ts`).
 */
function readAs(
  node: SchemaNode,
  stored: DataType,
  hint: DataType,
): { readonly value: DataType; readonly divisor: bigint } | null {
  const as = (isStored: boolean, divisor = 1n) => (isStored ? { value: hint, divisor } : null)
  switch (hint.kind) {
    case 'dictionary':
      return hint.value.kind === 'dictionary' ? null : readAs(node, stored, hint.value)
    case 'utf8':
      return as(stored.kind === 'utf8')
    case 'binary':
      return as(stored.kind === 'binary')
    case 'fixed_size_binary':
      if (hint.width === 0) return as(stored.kind === 'binary')
      return as(equalTypes(stored, hint))
    case 'duration':
      return as(stored.kind === 'int' && stored.bits === 64 && stored.signed)
    case 'interval': {
      const width = { year_month: 4, day_time: 8, month_day_nano: 16 }[hint.unit]
      if (stored.kind === 'interval') return as(hint.unit === 'month_day_nano')
      return as(stored.kind === 'fixed_size_binary' && stored.width === width)
    }
    case 'date':
      if (hint.unit === 'day') return as(stored.kind === 'date')
      return as(stored.kind === 'timestamp' && stored.unit === 'ms' && node.physical === 'int64')
    case 'time':
      if (hint.unit === 's') return as(stored.kind === 'time' && stored.unit === 'us', 1_000_000n)
      return as(equalTypes(stored, hint))
    case 'timestamp':
      if (stored.kind !== 'timestamp' || (stored.timezone === null) !== (hint.timezone === null)) return null
      if (node.physical === 'int96') return as(true)
      if (hint.unit === 's') return as(stored.unit === 'ms', 1000n)
      return as(stored.unit === hint.unit)
    case 'decimal':
      if (stored.kind === 'fixed_size_binary') return as(stored.width === hint.bits / 8)
      return as(
        stored.kind === 'decimal' && stored.precision === hint.precision && stored.scale === hint.scale,
      )
    default:
      return as(equalTypes(stored, hint))
  }
}
