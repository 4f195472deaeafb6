/**
 * Reads long lists of constants from the text or from a parameter without creating a node per element. For example, a
 * list of 100,000 ids becomes one array.
 */
import type { ConstantList } from './syntax.js'

export type Constants = ConstantList['values']

/**
 * Minimum number of elements. Shorter lists are parsed as ordinary expressions, so that errors have the position of an
 * element.
 */
const leastLength = 64

/** Factor of the high word of a 64-bit integer, which is stored as two 32-bit words. */
const wordSize = 2 ** 32

/** Number of digits of the greatest uint64. */
const maxDigits = 20
/** Maximum number of digits of an integer that a double always represents exactly. */
const exactDigits = 15

/**
 * Read a list of constants in `text`, from the offset `from` to the bracket `close`. Returns the constants and the
 * offset of the bracket. Returns null if the list has fewer than 64 elements, or if the elements are neither all 64-bit
 * integers nor all strings.
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
      // A double cannot represent the value exactly. So compute it in parts: the last nine digits are one part, and the
      // number before them (less than 2^37) is split into its low 16 bits and the rest.
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

/** Return the number of the digits from `from` to `to - 1`. There must be at most 15 digits. */
function numberAt(text: string, from: number, to: number): number {
  let value = 0
  for (let i = from; i < to; i++) value = value * 10 + (text.charCodeAt(i) - 48)
  return value
}

/** Return the offset after the blanks at `at`. Comments are not skipped. */
function blankEnd(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 32 && !(code >= 9 && code <= 13)) return at
    at++
  }
}

/**
 * Return the elements of a parameter as a constant list. Return null if there are fewer than 64 elements, or if they
 * are neither all integers nor all strings. A Float64Array whose numbers are not all integers is returned unchanged.
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

/** Return the distinct values. Strings are in order of appearance, numbers ascending with NaN last. -0 becomes 0. */
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
