/**
 * Read long lists of constants directly from the text, or take them from a parameter. A hundred thousand ids
 * then become one array instead of one node each.
 */
import type { ConstantList } from './syntax.js'

export type Constants = ConstantList['values']

/** Shorter lists are parsed as ordinary expressions, which keep the position of each element. */
const leastLength = 64

/** A 64-bit integer is stored as two words: `high * 2**32 + low`. */
const wordSize = 2 ** 32

/** Digits of the longest uint64, and number of digits that a double always holds exactly. */
const maxDigits = 20
const exactDigits = 15

/**
 * Return the constants from `from` up to the bracket `close`, and the offset of the bracket. Return null if
 * the list is short, or is not made of 64-bit integers only or strings only.
 */
export function scanConstants(
  text: string,
  from: number,
  close: ')' | ']',
): { readonly values: Constants; readonly end: number } | null {
  const closeCode = close.charCodeAt(0)
  return text.charCodeAt(from) === 39 ? scanTexts(text, from, closeCode) : scanIntegers(text, from, closeCode)
}

function scanTexts(text: string, from: number, close: number) {
  const values: string[] = []
  let at = from
  for (;;) {
    if (text.charCodeAt(at) !== 39) return null
    const start = at + 1
    let hasQuotes = false
    let end = text.indexOf("'", start)
    while (end !== -1 && text.charCodeAt(end + 1) === 39) {
      hasQuotes = true
      end = text.indexOf("'", end + 2)
    }
    if (end === -1) return null
    const inner = text.slice(start, end)
    values.push(hasQuotes ? inner.replaceAll("''", "'") : inner)
    at = blankEnd(text, end + 1)
    const code = text.charCodeAt(at)
    if (code === close) return values.length < leastLength ? null : { values, end: at }
    if (code !== 44) return null
    at = blankEnd(text, at + 1)
  }
}

function scanIntegers(text: string, from: number, close: number) {
  let words = new Int32Array(4 * leastLength)
  let count = 0
  let hasNegative = false
  let hasHuge = false
  let at = from
  for (;;) {
    let code = text.charCodeAt(at)
    const isNegative = code === 45
    if (isNegative) code = text.charCodeAt(++at)
    const start = at
    let value = 0
    while (code >= 48 && code <= 57) {
      value = value * 10 + (code - 48)
      code = text.charCodeAt(++at)
    }
    const digits = at - start
    if (digits === 0 || digits > maxDigits) return null
    let low = value | 0
    let high = Math.floor(value / wordSize)
    if (digits > exactDigits) {
      // A product of 64 bits is not exact in a double. So the last nine digits are added separately, and the
      // digits before them (less than 2^37) are split at bit 16.
      const upper = numberAt(text, start, at - 9)
      const lowPart = (upper & 0xffff) * 1e9 + numberAt(text, at - 9, at)
      const highPart = Math.floor(upper / 0x10000) * 1e9
      const lowSum = (highPart & 0xffff) * 0x10000 + lowPart
      low = lowSum | 0
      high = Math.floor(highPart / 0x10000) + Math.floor(lowSum / wordSize)
      if (high >= wordSize) return null
    }
    if (isNegative) {
      if (high > 0x80000000 || (high === 0x80000000 && low !== 0)) return null
      hasNegative = true
    } else if (high >= 0x80000000) {
      hasHuge = true
    }
    if (2 * count === words.length) {
      const grown = new Int32Array(2 * words.length)
      grown.set(words)
      words = grown
    }
    words[2 * count] = isNegative ? -low : low
    words[2 * count + 1] = isNegative ? (low === 0 ? -high : ~high) : high
    count++
    if (code !== 44 && code !== close) {
      at = blankEnd(text, at)
      code = text.charCodeAt(at)
    }
    if (code === close) break
    if (code !== 44) return null
    at = blankEnd(text, at + 1)
  }
  if (count < leastLength || (hasNegative && hasHuge)) return null
  const values = hasHuge
    ? new BigUint64Array(words.buffer, 0, count)
    : new BigInt64Array(words.buffer, 0, count)
  return { values, end: at }
}

/** Return the number written by the digits from `from` up to `to`, at most 15 of them. */
function numberAt(text: string, from: number, to: number): number {
  let value = 0
  for (let i = from; i < to; i++) value = value * 10 + (text.charCodeAt(i) - 48)
  return value
}

/** Skip the blanks that separate tokens. Comments are not skipped. */
function blankEnd(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 32 && !(code >= 9 && code <= 13)) return at
    at++
  }
}

/**
 * Return the elements of a parameter as a constant list. Return null if there are few elements, or if they
 * are not all integers or all strings. An array of doubles is taken as is.
 */
export function constantsOf(items: ArrayLike<unknown>): Constants | null {
  if (items.length < leastLength) return null
  if (items instanceof BigInt64Array || items instanceof BigUint64Array) return items
  if (typeof items[0] === 'string') return textsOf(items)
  return integersOf(items) ?? (items instanceof Float64Array ? items : null)
}

function textsOf(items: ArrayLike<unknown>): Constants | null {
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (typeof item !== 'string' || /[\ud800-\udfff]/.test(item)) return null
  }
  return items as readonly string[]
}

function integersOf(items: ArrayLike<unknown>): Constants | null {
  const words = new Int32Array(2 * items.length)
  const values = new BigInt64Array(words.buffer)
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (typeof item === 'number') {
      if (!Number.isSafeInteger(item) || Object.is(item, -0)) return null
      words[2 * i] = item
      words[2 * i + 1] = Math.floor(item / wordSize)
    } else if (typeof item === 'bigint') {
      values[i] = item
      if (values[i] !== item) return null
    } else {
      return null
    }
  }
  return values
}

/** Return every value once: strings in order of appearance, numbers ascending with NaN last. -0 becomes 0. */
export function distinctValues(values: Constants): readonly (bigint | number | string)[] {
  if (values instanceof Float64Array) {
    const sorted = values.map(value => value + 0).sort()
    return Array.from(sorted).filter((value, i) => i === 0 || !Object.is(value, sorted[i - 1]))
  }
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    const sorted = values.slice().sort()
    const out: bigint[] = []
    for (let i = 0; i < sorted.length; i++) {
      if (i === 0 || sorted[i] !== sorted[i - 1]) out.push(sorted[i]!)
    }
    return out
  }
  return [...new Set(values)]
}
