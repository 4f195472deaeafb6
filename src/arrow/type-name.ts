/** Names of types for error messages and query plans. */
import type { DataType } from './types.js'

/**
 * Return the name of a type, for example `int32`, `timestamp(us, UTC)`, `fixed_size_list<float32>[128]` or
 * `struct<a: utf8, b: bool>`.
 */
export function typeName(type: DataType): string {
  switch (type.kind) {
    case 'int':
      return `${type.signed ? '' : 'u'}int${type.bits}`
    case 'float':
      return `float${type.bits}`
    case 'utf8':
    case 'binary':
      return type.large ? `large_${type.kind}` : type.kind
    case 'fixed_size_binary':
      return `fixed_size_binary[${type.width}]`
    case 'decimal':
      return `decimal${type.bits}(${type.precision}, ${type.scale})`
    case 'date':
      return type.unit === 'day' ? 'date32' : 'date64'
    case 'timestamp':
      return `timestamp(${type.unit}${type.timezone === null ? '' : `, ${type.timezone}`})`
    case 'time':
    case 'duration':
    case 'interval':
      return `${type.kind}(${type.unit})`
    case 'list':
      return `${type.large ? 'large_list' : 'list'}<${typeName(type.child.type)}>`
    case 'fixed_size_list':
      return `fixed_size_list<${typeName(type.child.type)}>[${type.size}]`
    case 'struct':
      return `struct<${type.children.map(child => `${child.name}: ${typeName(child.type)}`).join(', ')}>`
    case 'map':
      return `map<${type.child.type.kind === 'struct' ? type.child.type.children.map(child => typeName(child.type)).join(', ') : ''}>`
    case 'dictionary':
      return `dictionary<${typeName(type.value)}, ${typeName(type.index)}>`
    default:
      return type.kind
  }
}
