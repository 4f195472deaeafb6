/** Fields as IPC bodies see them: what messages call them, how their values arrive, which dictionary is theirs. */
import { childFields, type DataType, type Schema } from './types.js'

export interface WireField {
  /** What messages call it: `user.tags[]`. */
  readonly path: string
  readonly type: DataType
  /** Values come as 16-byte views (utf8_view, binary_view) and become plain ones. */
  readonly view: boolean
  /** Id of its dictionary batches; -1 for every type but dictionary. */
  readonly dictionaryId: number
  /** The fields whose nodes follow its own in a body; a dictionary has none. */
  readonly children: readonly WireField[]
  /** What the dictionary batches of a dictionary field hold; else null. */
  readonly values: WireField | null
}

/** The path of a child field. */
function childPath(path: string, parent: DataType, name: string): string {
  return parent.kind === 'list' || parent.kind === 'fixed_size_list' ? `${path}[]` : `${path}.${name}`
}

/**
 * The wire fields of a schema as Sheaf writes it: dictionary ids count up from `firstId` in the order a
 * reader of the schema meets them, an outer dictionary before those inside its values.
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

/** Every dictionary field below (or at) some fields, inner ones before the outer ones that hold them. */
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
