/** Fields as IPC bodies contain them: their names in messages, the encoding of their values, and their dictionaries. */
import { childFields, type DataType, type Schema } from './types.js'

/** A field, with what decoding its bodies requires. */
export interface WireField {
  /** The name of the field in messages: `user.tags[]`. */
  readonly path: string
  readonly type: DataType
  /** Whether values arrive as 16-byte views (utf8_view, binary_view), which are converted. */
  readonly view: boolean
  /** Id of the field's dictionary batches; -1 for every type except dictionary. */
  readonly dictionaryId: number
  /** The fields whose nodes follow this field's node in a body. A dictionary field has none. */
  readonly children: readonly WireField[]
  /** The content of the dictionary batches of a dictionary field; else null. */
  readonly values: WireField | null
}

/** Return the path of a child field. */
function childPath(path: string, parent: DataType, name: string): string {
  return parent.kind === 'list' || parent.kind === 'fixed_size_list' ? `${path}[]` : `${path}.${name}`
}

/**
 * Return the wire fields of a schema as Sheaf writes it. Dictionary ids count up from `firstId` in the order of the
 * schema, an outer dictionary before those inside its values.
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

/** Return every dictionary field in (or below) some fields, inner ones before the outer ones that contain them. */
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
