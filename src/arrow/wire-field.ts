/** Fields in the form in which IPC bodies contain them, with the encoding of their values and their dictionaries. */
import { childFields, type DataType, type Schema } from './types.js'

/** A field with the facts that a decoder of its bodies needs. */
export interface WireField {
  /** Name of the field in messages, for example `user.tags[]`. */
  readonly path: string
  readonly type: DataType
  /**
   * Whether values are encoded as 16-byte views (utf8_view, binary_view). The decoder converts them to utf8 and binary.
   */
  readonly view: boolean
  /** Id of the field's dictionary. -1 for other types than dictionary. */
  readonly dictionaryId: number
  /** The child fields. Their nodes follow this field's node in a body. Empty for a dictionary field. */
  readonly children: readonly WireField[]
  /** The field of a dictionary's values, which are in dictionary batches. Null for other types than dictionary. */
  readonly values: WireField | null
}

/** Return the path of a child field. */
function childPath(path: string, parent: DataType, name: string): string {
  return parent.kind === 'list' || parent.kind === 'fixed_size_list' ? `${path}[]` : `${path}.${name}`
}

/**
 * Return the wire fields of a schema that Sheaf writes. Dictionary ids are consecutive numbers from `firstId` (default:
 * 0) in the order of the schema. A dictionary gets its id before the dictionaries inside its values.
 */
export function wireFields(schema: Schema, firstId = 0): WireField[] {
  const ids = { next: firstId }
  return schema.fields.map(field => wireField(field.name, field.type, ids))
}

function wireField(path: string, type: DataType, ids: { next: number }): WireField {
  if (type.kind === 'dictionary') {
    const dictionaryId = ids.next++
    const values = wireField(path, type.value, ids)
    return { path, type, view: false, dictionaryId, children: [], values }
  }
  const children = childFields(type).map(child =>
    wireField(childPath(path, type, child.name), child.type, ids),
  )
  return { path, type, view: false, dictionaryId: -1, children, values: null }
}

/**
 * Return all dictionary fields among the fields and their descendants. A dictionary follows the dictionaries inside its
 * values.
 */
export function dictionaryFields(fields: readonly WireField[]): WireField[] {
  const out: WireField[] = []
  const visit = (field: WireField): void => {
    field.children.forEach(visit)
    if (field.values !== null) {
      visit(field.values)
      out.push(field)
    }
  }
  fields.forEach(visit)
  return out
}
