/** Operators on the bits of 64-bit integers, which are processed as pairs of 32-bit words. */
import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { spread } from '../kernels/gather.js'
import { strictValidity } from '../kernels/truth.js'
import { bitAt, columnOf, pairsOf } from '../values/vector.js'
import type { Call } from './call.js'
import { strictRows } from './operands.js'

/** Compute `a & b`. */
export function bitAnd(call: Call): Column {
  const [left, right, out] = wordsOfCall(call)
  for (let w = 0; w < out.length; w++) out[w] = left[w]! & right[w]!
  return resultOf(call, out)
}

/** Compute `a | b`. */
export function bitOr(call: Call): Column {
  const [left, right, out] = wordsOfCall(call)
  for (let w = 0; w < out.length; w++) out[w] = left[w]! | right[w]!
  return resultOf(call, out)
}

/** Compute `a ^ b`, exclusive or. */
export function bitXor(call: Call): Column {
  const [left, right, out] = wordsOfCall(call)
  for (let w = 0; w < out.length; w++) out[w] = left[w]! ^ right[w]!
  return resultOf(call, out)
}

/** Compute `~a`. */
export function bitNot(call: Call): Column {
  const source = pairsOf(spread(call.args[0]!, call.length))
  const out = new Int32Array(2 * call.length)
  for (let w = 0; w < out.length; w++) out[w] = ~source[w]!
  return resultOf(call, out)
}

/** Compute `a << n`. Bits beyond the 64th are dropped. */
export function shiftLeft(call: Call): Column {
  const [source, counts, out] = wordsOfCall(call)
  checkShifts(call, counts)
  for (let i = 0; i < call.length; i++) {
    const n = counts[2 * i]! & 63
    const low = source[2 * i]!
    if (n >= 32) out[2 * i + 1] = low << (n - 32)
    else {
      out[2 * i] = low << n
      // Shift in two steps, because for n = 0 a single shift by 32 - n bits would shift by 0 bits.
      out[2 * i + 1] = (source[2 * i + 1]! << n) | ((low >>> 1) >>> (31 - n))
    }
  }
  return resultOf(call, out)
}

/**
 * Compute `a >> n`. For signed integers, copies of the sign bit fill the free bits, so a negative number stays
 * negative.
 */
export function shiftRight(call: Call): Column {
  const [source, counts, out] = wordsOfCall(call)
  checkShifts(call, counts)
  const isSigned = call.type.kind === 'int' && call.type.signed
  for (let i = 0; i < call.length; i++) {
    const n = counts[2 * i]! & 63
    const high = source[2 * i + 1]!
    const fill = isSigned ? high >> 31 : 0
    if (n >= 32) {
      out[2 * i] = isSigned ? high >> (n - 32) : high >>> (n - 32)
      out[2 * i + 1] = fill
    } else {
      out[2 * i] = (source[2 * i]! >>> n) | ((high << 1) << (31 - n))
      out[2 * i + 1] = isSigned ? high >> n : high >>> n
    }
  }
  return resultOf(call, out)
}

function checkShifts(call: Call, counts: Int32Array): void {
  const { needed } = strictRows(call)
  for (let i = 0; i < call.length; i++) {
    if ((counts[2 * i]! >>> 6 === 0 && counts[2 * i + 1] === 0) || !bitAt(needed, i)) continue
    const count = BigInt(counts[2 * i + 1]!) * 0x1_0000_0000n + BigInt(counts[2 * i]! >>> 0)
    throw invalidInput(`${call.describe()} shifts by ${count} bits, but only 0 to 63 bits are allowed`)
  }
}

/** Return the words of both arguments, and an array for the words of the result. */
function wordsOfCall({ args, length }: Call): [Int32Array, Int32Array, Int32Array<ArrayBuffer>] {
  const [left, right] = args.map(arg => pairsOf(spread(arg, length))) as [Int32Array, Int32Array]
  return [left, right, new Int32Array(2 * length)]
}

function resultOf({ args, type, length }: Call, words: Int32Array<ArrayBuffer>): Column {
  const isSigned = type.kind === 'int' && type.signed
  const values = isSigned ? new BigInt64Array(words.buffer) : new BigUint64Array(words.buffer)
  return columnOf(type, length, { values }, strictValidity(args, length))
}
