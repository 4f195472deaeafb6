/** Compares types and schemas. */
import type { DataType, Field, Schema } from './types.js'

/**
 * Return whether two types have equal kinds, parameters and nested fields. Metadata is ignored. The names of the
 * children of lists and maps, for example "item" or "element", are also ignored, because an expression cannot refer to
 * them.
 */
export function equalTypes(a: DataType, b: DataType): boolean {
  if (a === b) return true
  switch (a.kind) {
    case 'null':
    case 'bool':
      return a.kind === b.kind
    case 'int':
      return b.kind === 'int' && a.bits === b.bits && a.signed === b.signed
    case 'float':
      return b.kind === 'float' && a.bits === b.bits
    case 'utf8':
    case 'binary':
      return a.kind === b.kind && a.large === b.large
    case 'fixed_size_binary':
      return b.kind === 'fixed_size_binary' && a.width === b.width
    case 'decimal':
      return b.kind === 'decimal' && a.bits === b.bits && a.precision === b.precision && a.scale === b.scale
    case 'date':
    case 'time':
    case 'duration':
    case 'interval':
      return a.kind === b.kind && a.unit === b.unit
    case 'timestamp':
      return b.kind === 'timestamp' && a.unit === b.unit && a.timezone === b.timezone
    case 'list':
      return b.kind === 'list' && a.large === b.large && equalChild(a.child, b.child)
    case 'fixed_size_list':
      return b.kind === 'fixed_size_list' && a.size === b.size && equalChild(a.child, b.child)
    case 'struct':
      return b.kind === 'struct' && equalFields(a.children, b.children)
    case 'map':
      return b.kind === 'map' && a.keysSorted === b.keysSorted && equalEntries(a.child, b.child)
    case 'dictionary':
      return (
        b.kind === 'dictionary' &&
        a.ordered === b.ordered &&
        equalTypes(a.index, b.index) &&
        equalTypes(a.value, b.value)
      )
  }
}

/**
 * Return whether two schemas have the same fields (name, type, nullability) in the same order. Metadata is ignored.
 */
export function equalSchemas(a: Schema, b: Schema): boolean {
  return equalFields(a.fields, b.fields)
}

function equalFields(a: readonly Field[], b: readonly Field[]): boolean {
  return a.length === b.length && a.every((field, i) => field.name === b[i]!.name && equalChild(field, b[i]!))
}

function equalChild(a: Field, b: Field): boolean {
  return a.nullable === b.nullable && equalTypes(a.type, b.type)
}

function equalEntries(a: Field, b: Field): boolean {
  if (a.type.kind !== 'struct' || b.type.kind !== 'struct') return false
  const others = b.type.children
  return (
    a.type.children.length === others.length && a.type.children.every((f, i) => equalChild(f, others[i]!))
  )
}
