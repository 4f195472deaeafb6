/**
 * Decodes a buffer that contains all values of a block: levels of a chunk, and dictionaries. In contrast to the values of
 * chunks (`chunk-values.ts`), lengths and offsets are in the same buffer as the values.
 */
import { invalidInput } from '../errors.js'
import { type Block, type FixedBlock, fixedBlock } from './block.js'
import { decompress } from './decompress.js'
import { type Encoding, newerEncoding } from './encoding.js'
import { FsstDecoder } from './fsst.js'
import { blockValues, packedBlockBytes, unpackBlock } from './unpack-bits.js'

/** Maximum number of values of a block, and bytes of the copies of a value. Runs and constants take few bytes of a file. */
const maxValues = 2 ** 26
const maxCopiedBytes = 2 ** 29

/** Decode `count` values. Throws InvalidInput if the bytes are damaged. */
export function decodeBlock(encoding: Encoding, bytes: Uint8Array, count: number): Block {
  checkCount(count)
  switch (encoding.kind) {
    case 'flat':
      return fixedBlock(encoding.bits, count, bytes)
    case 'constant': {
      const { value } = encoding
      if (value === null || value.length === 0) throw invalidInput('a constant block has no value')
      return fixedBlock(8 * value.length, count, copies(value, count))
    }
    case 'inline':
      return decodeInline(encoding.bits, bytes, count)
    case 'out-of-line':
      return decodeOutOfLine(encoding.bits, encoding.packedBits, bytes, count)
    case 'variable':
      return decodeVariable(bytes, count)
    case 'fsst': {
      const packed = decodeBlock(encoding.values, bytes, count)
      if (packed.kind !== 'variable') throw newerEncoding('encoding of text')
      return decodeFsst(new FsstDecoder(encoding.table), packed.offsets, packed.bytes)
    }
    case 'list': {
      if (encoding.hasValidity) throw newerEncoding('dictionary of lists with nulls')
      const items = decodeBlock(encoding.values, bytes, count * encoding.size)
      return { kind: 'list', count, size: encoding.size, validity: null, items }
    }
    case 'general':
      return decodeBlock(encoding.values, decompress(encoding.scheme, bytes), count)
    case 'rle':
      return decodeRuns(encoding.values, encoding.lengths, bytes, count)
    default:
      throw newerEncoding(`use of the encoding ${encoding.kind}`)
  }
}

function checkCount(count: number): void {
  if (count > maxValues) throw invalidInput(`a block announces ${count} values`)
}

/** Return the bytes of `count` copies of a value. */
function copies(value: Uint8Array, count: number): Uint8Array {
  const length = value.length * count
  if (length > maxCopiedBytes)
    throw invalidInput(`a block announces ${count} copies of a value of ${value.length} bytes`)
  const out = new Uint8Array(length)
  out.set(value.subarray(0, length))
  for (let done = value.length; done < length; done *= 2) out.copyWithin(done, 0, done)
  return out
}

/** Decode `count` levels: integers of 16 bits. */
export function decodeLevels(encoding: Encoding, bytes: Uint8Array, count: number): Uint16Array {
  const block = decodeBlock(encoding, bytes, count)
  if (block.kind !== 'fixed' || block.bits !== 16)
    throw invalidInput('the levels of a page do not have 16 bits')
  const aligned = block.bytes.byteOffset % 2 === 0 ? block.bytes : block.bytes.slice()
  return new Uint16Array(aligned.buffer, aligned.byteOffset, count)
}

function decodeInline(bits: number, bytes: Uint8Array, count: number): Block {
  if (count > blockValues)
    throw invalidInput(`a packed block has ${count} values, expected at most ${blockValues}`)
  const out = new Uint8Array((blockValues * bits) / 8)
  unpackBlock(bits, inlineWidth(bits, bytes), bytes.subarray(bits / 8), out)
  return fixedBlock(bits, count, out)
}

/** Return the width that precedes a packed block, as an integer of `bits` bits. */
export function inlineWidth(bits: number, bytes: Uint8Array): number {
  if (bytes.length < bits / 8) throw invalidInput(`a packed block has only ${bytes.length} bytes`)
  for (let i = 1; i < bits / 8; i++) if (bytes[i] !== 0) return bits + 1
  return bytes[0]!
}

function decodeOutOfLine(bits: number, packedBits: number, bytes: Uint8Array, count: number): Block {
  const packedBytes = packedBlockBytes(packedBits)
  const whole = Math.floor(count / blockValues)
  const rest = count % blockValues
  const start = whole * packedBytes
  if (bytes.length < start) {
    throw invalidInput(`${count} packed values need at least ${start} bytes, but there are ${bytes.length}`)
  }
  const outBytes = (blockValues * bits) / 8
  const out = new Uint8Array((whole + (rest > 0 ? 1 : 0)) * outBytes)
  for (let i = 0; i < whole; i++) {
    unpackBlock(bits, packedBits, bytes.subarray(i * packedBytes), out.subarray(i * outBytes))
  }
  if (rest > 0) {
    // The last values are packed or not, whichever is shorter.
    const left = bytes.subarray(start)
    if (left.length === (rest * bits) / 8) out.set(left, whole * outBytes)
    else unpackBlock(bits, packedBits, left, out.subarray(whole * outBytes))
  }
  return fixedBlock(bits, count, out)
}

/** Decode text: bits per offset, position of the bytes, offsets, bytes. Old versions wrote a number of values, too. */
function decodeVariable(bytes: Uint8Array, count: number): Block {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const short = () => invalidInput(`a block of ${count} texts has only ${bytes.length} bytes`)
  if (bytes.length < 8) throw short()
  const bits = bytes[0]!
  if (bits !== 32 && bits !== 64) throw invalidInput(`a block of texts has offsets of ${bits} bits`)
  const width = bits / 8
  const isOld = bytes[1] !== 0 || bytes[2] !== 0 || bytes[3] !== 0
  const header = isOld ? 1 + 2 * width : 2 * width
  if (bytes.length < header + (count + 1) * width) throw short()
  const read = (at: number) =>
    width === 4 ? view.getUint32(at, true) : view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true)
  const start = read(header - width)
  if (start > bytes.length || start < header + (count + 1) * width) throw short()
  const first = read(header)
  const offsets = new Int32Array(count + 1)
  for (let i = 0; i <= count; i++) {
    const offset = read(header + i * width) - first
    if (offset > bytes.length - start - first || (i > 0 && offset < offsets[i - 1]!)) {
      throw invalidInput(`offset ${i} of a block of texts is ${offset}, which is out of order or range`)
    }
    offsets[i] = offset
  }
  return { kind: 'variable', count, offsets, bytes: bytes.subarray(start + first) }
}

/** Decode values that were compressed with FSST. */
export function decodeFsst(decoder: FsstDecoder, offsets: Int32Array, bytes: Uint8Array): Block {
  const count = offsets.length - 1
  if (!decoder.isOn) return { kind: 'variable', count, offsets, bytes }
  const out = { bytes: new Uint8Array(8 * offsets[count]! + 8), length: 0 }
  const ends = new Int32Array(count + 1)
  decoder.decode(bytes, offsets, out, ends, 1)
  return { kind: 'variable', count, offsets: ends, bytes: out.bytes.slice(0, out.length) }
}

/** Decode runs: the length of the values as 8 bytes, the values, and the lengths of the runs. */
function decodeRuns(values: Encoding, lengths: Encoding, bytes: Uint8Array, count: number): Block {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 8) throw invalidInput(`a block of runs has only ${bytes.length} bytes`)
  const size = view.getUint32(0, true)
  if (view.getUint32(4, true) !== 0 || size > bytes.length - 8) {
    throw invalidInput(`a block of runs of ${bytes.length} bytes cannot have values of ${size} bytes`)
  }
  return expandRuns(values, lengths, [bytes.subarray(8, 8 + size), bytes.subarray(8 + size)], count)
}

/** Decode runs: `buffers` has the values and the lengths of the runs. */
export function expandRuns(
  values: Encoding,
  lengths: Encoding,
  buffers: readonly Uint8Array[],
  count: number,
): FixedBlock {
  checkCount(count)
  const sizes = unwrap(lengths, buffers[1] ?? new Uint8Array(0))
  const packed = unwrap(values, buffers[0] ?? new Uint8Array(0))
  const runs = Math.floor((8 * sizes.bytes.length) / sizes.bits)
  const block = fixedBlock(packed.bits, runs, packed.bytes)
  const runLengths = integersOf(sizes.bits, sizes.bytes.slice())
  if (runLengths instanceof BigUint64Array) throw newerEncoding('encoding of runs')
  const source = integersOf(block.bits, block.bytes.slice())
  const bytes = new Uint8Array((count * block.bits) / 8)
  const target = integersOf(block.bits, bytes)
  let at = 0
  for (let run = 0; run < runs && at < count; run++) {
    const end = Math.min(at + runLengths[run]!, count)
    target.fill(source[run]! as never, at, end)
    at = end
  }
  if (at !== count) throw invalidInput(`the runs of a block have ${at} values, expected ${count}`)
  return fixedBlock(block.bits, count, bytes)
}

/** Return bytes as unsigned integers of 8, 16, 32 or 64 bits. The bytes begin their buffer. */
function integersOf(bits: number, { buffer, length }: Uint8Array) {
  if (bits === 8) return new Uint8Array(buffer, 0, length)
  if (bits === 16) return new Uint16Array(buffer, 0, length >>> 1)
  return bits === 32 ? new Uint32Array(buffer, 0, length >>> 2) : new BigUint64Array(buffer, 0, length >>> 3)
}

/** Return the bytes of flat values, which may be compressed. */
function unwrap(
  encoding: Encoding,
  bytes: Uint8Array,
): { readonly bits: number; readonly bytes: Uint8Array } {
  if (encoding.kind === 'general') return unwrap(encoding.values, decompress(encoding.scheme, bytes))
  if (encoding.kind !== 'flat' || ![8, 16, 32, 64].includes(encoding.bits))
    throw newerEncoding('encoding of runs')
  return { bits: encoding.bits, bytes }
}
