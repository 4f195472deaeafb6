/** Digests and encodings of bytes: a text counts as its UTF-8. */
import { createHash } from 'node:crypto'
import type { Column } from '../../arrow/column.js'
import { invalidInput, quote, unsupported } from '../../errors.js'
import { ByteBuilder } from '../kernels/byte-builder.js'
import { byteRowsOf } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { textOf, totalBytes } from './operands.js'
import { writeRows } from './text-edit.js'

/** Names of digests and how node:crypto calls them. */
const algorithms: Readonly<Record<string, string>> = {
  md5: 'md5',
  sha224: 'sha224',
  sha256: 'sha256',
  sha384: 'sha384',
  sha512: 'sha512',
  blake2s: 'blake2s256',
  blake2b: 'blake2b512',
}

/** The bytes of row `row`. */
function bytesAt(call: Call, row: number): Uint8Array {
  const [{ column, constant }] = call.args as [Call['args'][0]]
  const { bytes, offsets } = byteRowsOf(column)
  const at = constant ? 0 : row
  return bytes.subarray(offsets[at]!, offsets[at + 1]!)
}

/** The digest by a fixed algorithm, as bytes. */
export function digestBy(name: string): Kernel {
  return call => digests(call, () => name)
}

/** `digest(bytes, algorithm)`. */
export function digest(call: Call): Column {
  return digests(call, row => textOf(call.args[1]!, row).toLowerCase())
}

function digests(call: Call, nameAt: (row: number) => string): Column {
  return writeRows(call, new ByteBuilder(call.length, call.length * 32), (builder, row) => {
    const hash = createHash(algorithmOf(nameAt(row)))
      .update(bytesAt(call, row))
      .digest()
    builder.bytes(hash, 0, hash.length)
  })
}

/** Throws code 0 for a digest that is not known. */
export function algorithmOf(name: string): string {
  const key = name.toLowerCase()
  if (Object.hasOwn(algorithms, key)) return algorithms[key]!
  throw unsupported(`no digest named ${quote(name)}`, {
    hint: `the digests are ${Object.keys(algorithms).join(', ')}`,
  })
}

/** `md5(bytes)`, as text in hexadecimal. */
export function md5(call: Call): Column {
  return writeRows(call, new ByteBuilder(call.length, call.length * 32), (builder, row) => {
    builder.text(createHash('md5').update(bytesAt(call, row)).digest('hex'))
  })
}

const encodings = ['base64', 'base64pad', 'hex']

/** Throws code 0 for an encoding that is not known. */
export function encodingOf(name: string): string {
  if (encodings.includes(name.toLowerCase())) return name.toLowerCase()
  throw unsupported(`no encoding named ${quote(name)}`, { hint: `the encodings are ${encodings.join(', ')}` })
}

/** `encode(bytes, encoding)`: base64 is written without padding, base64pad with it. */
export function encode(call: Call): Column {
  const { args, length } = call
  return writeRows(call, ByteBuilder.growing(length, 2 * totalBytes(args[0]!, length)), (builder, row) => {
    const encoding = encodingOf(textOf(args[1]!, row))
    const text = Buffer.from(bytesAt(call, row)).toString(encoding === 'hex' ? 'hex' : 'base64')
    builder.text(encoding === 'base64' ? text.replace(/=+$/, '') : text)
  })
}

/** `decode(text, encoding)`; base64 may have its padding. */
export function decode(call: Call): Column {
  const { args, length, describe } = call
  return writeRows(call, new ByteBuilder(length, totalBytes(args[0]!, length)), (builder, row) => {
    const text = Buffer.from(bytesAt(call, row)).toString('latin1')
    const encoding = encodingOf(textOf(args[1]!, row))
    const bytes = encoding === 'hex' ? fromHex(text) : fromBase64(text)
    if (bytes === null) throw invalidInput(`${quote(text)} is not ${encoding}, in ${describe()}`)
    builder.bytes(bytes, 0, bytes.length)
  })
}

function fromHex(text: string): Uint8Array | null {
  return text.length % 2 === 0 && /^[\da-f]*$/i.test(text) ? Buffer.from(text, 'hex') : null
}

function fromBase64(text: string): Uint8Array | null {
  if (!/^[A-Za-z\d+/]*={0,2}$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64')
  // Bits past the last byte are zero in the one way to write these bytes.
  return bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '') ? bytes : null
}
