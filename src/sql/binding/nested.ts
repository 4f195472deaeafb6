/** Bind lists, list elements and struct fields. */
import { equalTypes } from '../../arrow/same-type.js'
import { typeName } from '../../arrow/type-name.js'
import type { DataType, Schema } from '../../arrow/types.js'
import { cut, type SourceSpan, schemaMismatch, unsupported } from '../../errors.js'
import { type Bound, ElementNode, FieldNode, ListNode } from '../bound.js'
import { listOf } from '../functions/signature.js'
import { asDouble } from '../values/literal.js'
import { LiteralNode } from '../values/literal-node.js'
import { commonType, elementType, int64, nullType, valueType } from '../values/types.js'
import { hasConstants } from '../values/vector.js'
import { coerced, describe, fold, unified, unifyConstants } from './build.js'
import { isLiteral } from './logic.js'
import { resolveColumn } from './names.js'

/** Maximum number of elements of a list that is not constant, and so is built for every row. */
const maxElements = 1024

/** Create the list `[a, b]`. The list is a constant if all its elements are constants. */
export function list(written: readonly Bound[], at: SourceSpan): Bound {
  // If an element has the limit `rounded`, the list gets this limit, because only floats accept rounded numbers. The
  // error is raised later, when the type of the other operand is known.
  const limit = written.every(isLiteral)
    ? written.find(node => node.limit?.kind === 'rounded')?.limit
    : undefined
  const common = unified(limit === undefined ? written : (written as readonly LiteralNode[]).map(asDouble))
  if (common === null) throw mixedTypes(written, at)
  const { type, nodes } = common
  if (hasConstants(type) && nodes.every(isLiteral)) {
    const isAsWritten =
      limit === undefined &&
      written.every(
        node =>
          isLiteral(node) &&
          node.text === undefined &&
          node.elements === undefined &&
          equalTypes(node.type, type),
      )
    const elements = isAsWritten ? undefined : (written as readonly LiteralNode[])
    return new LiteralNode(
      listOf(type),
      nodes.map(node => node.value),
      { elements, limit },
    )
  }
  if (nodes.length > maxElements) {
    throw unsupported(`a list of ${nodes.length} values must have only constants`, {
      hint: `a list with other values has at most ${maxElements} values`,
      at,
    })
  }
  return new ListNode(listOf(type), nodes)
}

function mixedTypes(elements: readonly Bound[], at: SourceSpan): Error {
  const types = unifyConstants(elements).map(element => element.type)
  let common: DataType | null = nullType
  const different = types.find(type => {
    common = common === null ? null : commonType(common, type)
    return common === null
  })
  const first = types.find(type => type.kind !== 'null')
  const names = [first, different ?? types.at(-1)].map(type => cut(typeName(type!)))
  return schemaMismatch(`the values of a list must have one type, not ${names.join(' and ')}`, { at })
}

/** Create `operand[index]`: an element of a list, counted from 1, or a field of a struct by name. */
export function element(
  operand: Bound,
  index: Bound,
  schema: Schema,
  at: SourceSpan,
  indexAt: SourceSpan,
): Bound {
  const type = valueType(operand.type)
  if (type.kind === 'struct' && isLiteral(index) && typeof index.value === 'string') {
    return field(operand, index.value, schema, indexAt)
  }
  const item = elementType(type)
  if (item === null) {
    const hint = type.kind === 'struct' ? "write the name of a field: value['name']" : undefined
    throw schemaMismatch(`${describe(operand)} is not a list`, { hint, at })
  }
  const position = valueType(index.type).kind === 'int' ? coerced(index, int64) : null
  if (position === null) {
    throw schemaMismatch(`a list is indexed by an integer, not ${describe(index)}`, { at: indexAt })
  }
  return fold(new ElementNode(item, operand, position))
}

/** Create a field access. A field of a column is itself a column. */
function field(operand: Bound, name: string, schema: Schema, at: SourceSpan): Bound {
  const part = (segment: string) => ({ name: segment, quote: '`', at }) as const
  if (operand.kind === 'column') return resolveColumn([...operand.path, name].map(part), schema, at)
  const { children } = valueType(operand.type) as DataType & { kind: 'struct' }
  const { path, type } = resolveColumn([part(name)], { fields: children }, at)
  const index = children.findIndex(child => child.name === path[0])
  return fold(new FieldNode(type, operand, index))
}
