/** Compute digests and encodings of bytes. For a string, these are its UTF-8 bytes. */
import { createHash } from 'node:crypto'
import type { Column } from '../../arrow/column.js'
import { invalidInput, quote, unsupported } from '../../errors.js'
import { ByteBuilder } from '../kernels/byte-builder.js'
import { byteRowsOf, type Operand } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { growRows, textOf, writeRows } from './operands.js'

/** The names of the digest algorithms in node:crypto, by their names in SQL. */
const algorithms: Readonly<Record<string, string>> = {
  md5: 'md5',
  sha224: 'sha224',
  sha256: 'sha256',
  sha384: 'sha384',
  sha512: 'sha512',
  blake2s: 'blake2s256',
  blake2b: 'blake2b512',
}

/** Return a function that returns the bytes of a row of an argument. */
function bytesOf({ column, constant }: Operand): (row: number) => Uint8Array {
  const { bytes, offsets } = byteRowsOf(column)
  return row => {
    const at = constant ? 0 : row
    return bytes.subarray(offsets[at]!, offsets[at + 1]!)
  }
}

/** Return the kernel of a function that computes a digest with the algorithm `name`, as bytes. */
export function digestBy(name: string): Kernel {
  return call => digests(call, () => name)
}

/** Compute `digest(bytes, algorithm)`. */
export function digest(call: Call): Column {
  return digests(call, row => textOf(call.args[1]!, row).toLowerCase())
}

function digests(call: Call, nameAt: (row: number) => string): Column {
  const bytesAt = bytesOf(call.args[0]!)
  return writeRows(call, new ByteBuilder(call.length, call.length * 32), (builder, row) => {
    const hash = createHash(algorithmOf(nameAt(row)))
      .update(bytesAt(row))
      .digest()
    builder.bytes(hash, 0, hash.length)
  })
}

/** Return the name of a digest algorithm in node:crypto, ignoring case. Throws `Unsupported` for an unknown name. */
export function algorithmOf(name: string): string {
  const key = name.toLowerCase()
  if (Object.hasOwn(algorithms, key)) return algorithms[key]!
  throw unsupported(`there is no digest named ${quote(name)}`, {
    hint: `the digests are ${Object.keys(algorithms).join(', ')}`,
  })
}

/** Compute `md5(bytes)` as a hexadecimal string. */
export function md5(call: Call): Column {
  const bytesAt = bytesOf(call.args[0]!)
  return writeRows(call, new ByteBuilder(call.length, call.length * 32), (builder, row) => {
    builder.text(createHash('md5').update(bytesAt(row)).digest('hex'))
  })
}

const encodings = ['base64', 'base64pad', 'hex']

/** Return the name of an encoding in lower case. Throws `Unsupported` for an unknown name. */
export function encodingOf(name: string): string {
  if (encodings.includes(name.toLowerCase())) return name.toLowerCase()
  throw unsupported(`there is no encoding named ${quote(name)}`, {
    hint: `the encodings are ${encodings.join(', ')}`,
  })
}

/** Bytes per encoding step. It is a multiple of 3, because base64 encodes three bytes as four characters. */
const chunkSize = 3 * 2 ** 14

/** Compute `encode(bytes, encoding)`. The result has padding for `base64pad`, but not for `base64`. */
export function encode(call: Call): Column {
  const [source] = call.args as [Operand]
  const bytesAt = bytesOf(source)
  return growRows(call, [source], (builder, row) => {
    const encoding = encodingOf(textOf(call.args[1]!, row))
    const bytes = bytesAt(row)
    for (let at = 0; at < bytes.length; at += chunkSize) {
      const chunk = bytes.subarray(at, at + chunkSize)
      const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const text = buffer.toString(encoding === 'hex' ? 'hex' : 'base64')
      builder.text(encoding === 'base64' ? text.replace(/=+$/, '') : text)
    }
  })
}

/**
 * Compute `decode(text, encoding)`. Text in base64 may have padding. Throws `InvalidInput` for a text that is not valid
 * in the encoding.
 */
export function decode(call: Call): Column {
  const [source] = call.args as [Operand]
  const bytesAt = bytesOf(source)
  return growRows(call, [source], (builder, row) => {
    const text = bytesAt(row)
    const encoding = encodingOf(textOf(call.args[1]!, row))
    const bytes = encoding === 'hex' ? fromHex(text) : fromBase64(text)
    if (bytes === null) {
      const start = Buffer.from(text.subarray(0, 120)).toString('utf8')
      throw invalidInput(`${quote(start)} is not ${encoding}, in ${call.describe()}`, {
        hint:
          encoding === 'hex'
            ? 'write two hexadecimal digits per byte'
            : 'write four characters of A-Z a-z 0-9 + / per three bytes',
      })
    }
    builder.bytes(bytes, 0, bytes.length)
  })
}

/** Return a table with the value of each character: its position in an alphabet, or 255 if no alphabet has it. */
function valuesOf(...alphabets: readonly string[]): Uint8Array {
  const values = new Uint8Array(256).fill(255)
  for (const alphabet of alphabets) {
    for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i
  }
  return values
}

const hexValues = valuesOf('0123456789abcdef', '0123456789ABCDEF')
const base64Values = valuesOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')

function fromHex(text: Uint8Array): Uint8Array | null {
  if (text.length % 2 !== 0) return null
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) {
    const [high, low] = [hexValues[text[2 * i]!]!, hexValues[text[2 * i + 1]!]!]
    if (high === 255 || low === 255) return null
    bytes[i] = (high << 4) | low
  }
  return bytes
}

function fromBase64(text: Uint8Array): Uint8Array | null {
  let size = text.length
  for (let padding = 0; padding < 2 && text[size - 1] === 61; padding++) size--
  const bytes = new Uint8Array(Math.floor((size * 3) / 4))
  let bits = 0
  let count = 0
  let at = 0
  for (let i = 0; i < size; i++) {
    const value = base64Values[text[i]!]!
    if (value === 255) return null
    bits = ((bits << 6) | value) & 0xffff
    count += 6
    if (count < 8) continue
    count -= 8
    bytes[at++] = bits >>> count
  }
  // The unused bits after the last byte must be 0, as in canonical base64.
  return count === 6 || (bits & ((1 << count) - 1)) !== 0 ? null : bytes
}
