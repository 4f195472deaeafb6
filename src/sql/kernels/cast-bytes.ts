/** CAST between strings and byte strings. */
import { isUtf8 } from 'node:buffer'
import type { Column } from '../../arrow/column.js'
import { cellBytes } from '../../arrow/layout.js'
import { utf8 } from '../values/types.js'
import { bitAt, byteRowsOf, columnOf } from '../values/vector.js'
import { ByteBuilder } from './byte-builder.js'
import { type Cast, reject } from './cast-rows.js'

/**
 * Cast a string or byte string column to another string or byte string type. Invalid UTF-8 and wrong sizes are
 * rejected.
 */
export function castBytes(cast: Cast): Column {
  const { column, to, valid } = cast
  const { length, type: from } = column
  const { bytes, offsets } = byteRowsOf(column)
  if (to.kind === 'utf8' && from.kind !== 'utf8') {
    for (let i = 0; i < length; i++) {
      if (bitAt(valid, i) && !isUtf8(bytes.subarray(offsets[i]!, offsets[i + 1]!))) reject(cast, i)
    }
    return columnOf(to, length, withoutInvalid(bytes, offsets, valid), valid)
  }
  if (to.kind !== 'fixed_size_binary') return columnOf(to, length, { values: bytes, offsets }, valid)
  const width = cellBytes(to)
  const values = new Uint8Array(width * length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(valid, i)) continue
    if (offsets[i + 1]! - offsets[i]! !== width) reject(cast, i)
    else values.set(bytes.subarray(offsets[i]!, offsets[i + 1]!), i * width)
  }
  return columnOf(to, length, { values }, valid)
}

/** Copy the bytes of valid rows. Bytes of NULL rows are left out, because they may not be valid UTF-8. */
function withoutInvalid(bytes: Uint8Array, offsets: Int32Array, valid: Uint32Array) {
  const length = offsets.length - 1
  const builder = new ByteBuilder(length, bytes.length)
  for (let i = 0; i < length; i++) {
    if (bitAt(valid, i)) builder.bytes(bytes, offsets[i]!, offsets[i + 1]!)
    builder.endRow()
  }
  const { values, offsets: ends } = builder.finish(utf8, null)
  return { values: values!, offsets: ends! }
}
