/**
 * Read JSON text (RFC 8259) as a list of tokens, without creating JavaScript values.
 *
 * - A token is a value or a key. Tokens are in the order of the text, and are identified by their index.
 * - A member of an object is two tokens: the key and the value. If an object repeats a key, the last member counts.
 * - The reader makes one pass without recursion, so nesting is limited only by the length of a document.
 * - Numbers are kept as text, so they lose no digits.
 */

export const JsonKind = { Null: 0, False: 1, True: 2, Number: 3, String: 4, Array: 5, Object: 6 } as const

export type JsonKind = (typeof JsonKind)[keyof typeof JsonKind]

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** The kinds of tokens and separators that may come next in a document. */
const Expect = { Value: 0, ValueOrEnd: 1, Key: 2, KeyOrEnd: 3, CommaOrEnd: 4, Nothing: 5 } as const

/** Results that are cached for a document that is read many times. The keys of the maps are tokens. */
interface Index {
  readonly members: Map<number, ReadonlyMap<string, number>>
  readonly children: Map<number, readonly number[]>
  readonly strings: Map<number, string>
  readonly compact: Map<number, string>
}

/** Reads a JSON document and finds values in it. */
export class JsonReader {
  /** Number of values that `selectJson` has visited. */
  visited = 0
  #index: Index | null = null
  #text = ''
  #kinds = new Uint8Array(64)
  #starts = new Int32Array(64)
  #ends = new Int32Array(64)
  /** By token: the first token after it that is not inside it. */
  #nexts = new Int32Array(64)
  #count = 0
  readonly #open: number[] = []

  /** Read a document, whose whole value becomes token 0. Return false if the text is not JSON. */
  read(text: string): boolean {
    this.#index = null
    this.#text = text
    this.#count = 0
    this.#open.length = 0
    let expect: number = Expect.Value
    let at = 0
    for (;;) {
      at = skipBlank(text, at)
      if (at === text.length) return expect === Expect.Nothing
      const code = text.charCodeAt(at)
      if (expect === Expect.CommaOrEnd || isEnd(expect, code)) {
        expect = this.#afterValue(code, at)
        if (expect === -1) return false
        at++
      } else if (expect === Expect.Nothing) return false
      else if (expect === Expect.Key || expect === Expect.KeyOrEnd) {
        const end = code === quoteCode ? stringEnd(text, at) : -1
        if (end === -1) return false
        this.#add(JsonKind.String, at, end)
        at = skipBlank(text, end)
        if (text.charCodeAt(at) !== 58) return false
        at++
        expect = Expect.Value
      } else if (code === openBrace || code === openBracket) {
        this.#open.push(this.#count)
        this.#add(code === openBrace ? JsonKind.Object : JsonKind.Array, at, at)
        at++
        expect = code === openBrace ? Expect.KeyOrEnd : Expect.ValueOrEnd
      } else {
        at = this.#scalar(code, at)
        if (at === -1) return false
        expect = this.#open.length === 0 ? Expect.Nothing : Expect.CommaOrEnd
      }
    }
  }

  /** Cache all results of later calls for this document. */
  keepIndex(): void {
    this.#index = { members: new Map(), children: new Map(), strings: new Map(), compact: new Map() }
  }

  /**
   * Process a comma or the end of the open container. Return the `Expect` for the next token, or -1 if the character is
   * not allowed.
   */
  #afterValue(code: number, at: number): number {
    const top = this.#open.at(-1)
    if (top === undefined) return -1
    const isObject = this.#kinds[top] === JsonKind.Object
    if (code === comma) return isObject ? Expect.Key : Expect.Value
    if (code !== (isObject ? closeBrace : closeBracket)) return -1
    this.#open.pop()
    this.#ends[top] = at + 1
    this.#nexts[top] = this.#count
    return this.#open.length === 0 ? Expect.Nothing : Expect.CommaOrEnd
  }

  /** Add the scalar that begins at `at`. Return its end, or -1 if there is no valid scalar. */
  #scalar(code: number, at: number): number {
    if (code === quoteCode) {
      const end = stringEnd(this.#text, at)
      if (end !== -1) this.#add(JsonKind.String, at, end)
      return end
    }
    for (const [word, kind] of words) {
      if (!this.#text.startsWith(word, at)) continue
      this.#add(kind, at, at + word.length)
      return at + word.length
    }
    number.lastIndex = at
    if (!number.test(this.#text)) return -1
    this.#add(JsonKind.Number, at, number.lastIndex)
    return number.lastIndex
  }

  #add(kind: JsonKind, start: number, end: number): void {
    if (this.#count === this.#kinds.length) {
      this.#kinds = grown(this.#kinds, new Uint8Array(2 * this.#count))
      this.#starts = grown(this.#starts, new Int32Array(2 * this.#count))
      this.#ends = grown(this.#ends, new Int32Array(2 * this.#count))
      this.#nexts = grown(this.#nexts, new Int32Array(2 * this.#count))
    }
    this.#kinds[this.#count] = kind
    this.#starts[this.#count] = start
    this.#ends[this.#count] = end
    this.#count++
    this.#nexts[this.#count - 1] = this.#count
  }

  kindOf(token: number): JsonKind {
    return this.#kinds[token] as JsonKind
  }

  /** Return the text of a scalar as it is in the document, with the quotes of a string. */
  sourceOf(token: number): string {
    return this.#text.slice(this.#starts[token], this.#ends[token])
  }

  /** Return the value of a string, without quotes and escape sequences. */
  stringOf(token: number): string {
    const source = this.sourceOf(token)
    if (!source.includes('\\')) return source.slice(1, -1)
    return cached(this.#index?.strings, token, () => JSON.parse(source) as string)
  }

  /** Return a value as JSON without white space. Strings with escape sequences are written in their shortest form. */
  compact(token: number): string {
    return cached(this.#index?.compact, token, () => this.#written(token))
  }

  #written(token: number): string {
    let out = ''
    let done = this.#starts[token]!
    for (let k = token; k < this.#nexts[token]!; k++) {
      if (this.#kinds[k]! >= JsonKind.Array) continue
      out += withoutBlank(this.#text.slice(done, this.#starts[k]))
      const source = this.sourceOf(k)
      out += source.includes('\\') ? JSON.stringify(JSON.parse(source)) : source
      done = this.#ends[k]!
    }
    return out + withoutBlank(this.#text.slice(done, this.#ends[token]))
  }

  /** Return the value of a key of an object, or -1 if the object does not have the key. */
  member(object: number, key: string): number {
    if (this.#index !== null) {
      return cached(this.#index.members, object, () => this.#membersOf(object)).get(key) ?? -1
    }
    let found = -1
    for (let k = object + 1; k < this.#nexts[object]!; k = this.#nexts[k + 1]!) {
      if (this.#isKey(k, key)) found = k + 1
    }
    return found
  }

  #membersOf(object: number): ReadonlyMap<string, number> {
    const members = new Map<string, number>()
    for (const value of this.children(object)) members.set(this.stringOf(value - 1), value)
    return members
  }

  #isKey(token: number, key: string): boolean {
    const start = this.#starts[token]! + 1
    const end = this.#ends[token]! - 1
    if (end - start === key.length && this.#text.startsWith(key, start) && !key.includes('\\')) return true
    return end - start > key.length && this.stringOf(token) === key
  }

  /** Return the elements of an array, or the values of the members of an object. */
  children(container: number): readonly number[] {
    return cached(this.#index?.children, container, () => this.#childrenOf(container))
  }

  #childrenOf(container: number): readonly number[] {
    const isObject = this.#kinds[container] === JsonKind.Object
    const found: number[] = []
    for (let k = container + 1; k < this.#nexts[container]!; k = this.#nexts[k]!) {
      if (isObject) k++
      found.push(k)
    }
    return found
  }

  /**
   * Return element `index` of an array, counted from 0. A negative index counts from the end. Return -1 if the array
   * has no such element.
   */
  element(array: number, index: number): number {
    if (index < 0 || this.#index !== null) return this.children(array).at(index) ?? -1
    let k = array + 1
    for (let left = index; left > 0 && k < this.#nexts[array]!; left--) k = this.#nexts[k]!
    return k < this.#nexts[array]! ? k : -1
  }

  size(container: number): number {
    return this.children(container).length
  }
}

const quoteCode = 34
const comma = 44
const openBracket = 91
const closeBracket = 93
const openBrace = 123
const closeBrace = 125

const words = [
  ['null', JsonKind.Null],
  ['false', JsonKind.False],
  ['true', JsonKind.True],
] as const

/**
 * Return the cached value for a token. Compute and cache the value on first use. `cache` undefined: always compute it.
 */
function cached<T>(cache: Map<number, T> | undefined, token: number, find: () => T): T {
  if (cache === undefined) return find()
  let value = cache.get(token)
  if (value === undefined) {
    value = find()
    cache.set(token, value)
  }
  return value
}

function isEnd(expect: number, code: number): boolean {
  return (
    (expect === Expect.KeyOrEnd && code === closeBrace) ||
    (expect === Expect.ValueOrEnd && code === closeBracket)
  )
}

function skipBlank(text: string, from: number): number {
  let at = from
  while (at < text.length && isBlank(text.charCodeAt(at))) at++
  return at
}

function isBlank(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9
}

/**
 * Return the end of the string that begins at `start`. Return -1 if the string is not closed, or if it contains an
 * invalid character or escape sequence.
 */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quoteCode) return at + 1
    if (code < 32) return -1
    if (code !== 92) continue
    at++
    const escaped = text[at] ?? ''
    if (escaped === 'u') {
      if (!/^[\da-fA-F]{4}$/.test(text.slice(at + 1, at + 5))) return -1
      at += 4
    } else if (!'"\\/bfnrt'.includes(escaped) || escaped === '') return -1
  }
  return -1
}

function withoutBlank(text: string): string {
  return text.length <= 1 ? text : text.replace(/[ \t\r\n]+/g, '')
}

function grown<T extends Uint8Array | Int32Array>(from: T, to: T): T {
  to.set(from)
  return to
}
