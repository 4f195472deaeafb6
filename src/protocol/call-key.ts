/** The idempotency key of a call, and the fingerprint that distinguishes the call from other calls with that key. */
import { createHash } from 'node:crypto'
import { assert } from '../errors.js'

/** A longer key is recorded as its digest. */
const keyLengthMax = 128

export class CallKey {
  /** The key as it is recorded. */
  readonly key: string
  readonly #request: string
  /** The digest of the rows that come with the request; before they are read, `waiting`, and during the reading, `reading`. */
  #rows: 'none' | 'waiting' | 'reading' | { readonly digest: string }

  /** `request`: digest of the operation and its request. */
  constructor(key: string, request: string, hasRows: boolean) {
    this.key = key.length > keyLengthMax ? digestOf(key) : key
    this.#request = request
    this.#rows = hasRows ? 'waiting' : 'none'
  }

  /** Whether the fingerprint depends on rows whose reading has not begun. */
  get waitsForRows(): boolean {
    return this.#rows === 'waiting'
  }

  /** Whether the fingerprint depends on rows that were not read completely. */
  get lacksRows(): boolean {
    return this.#rows === 'waiting' || this.#rows === 'reading'
  }

  beginRows(): void {
    if (this.#rows === 'waiting') this.#rows = 'reading'
  }

  endRows(digest: string): void {
    this.#rows = { digest }
  }

  /** The fingerprint: equal for equal calls, from any caller. Available only after all rows were read. */
  get fingerprint(): string {
    assert(!this.lacksRows, 'a fingerprint without the rows of its call')
    return typeof this.#rows === 'object' ? this.#prefix + this.#rows.digest : this.#prefix
  }

  /** Return whether a call with this fingerprint may be this call, as far as its own fingerprint is known. */
  mayBe(fingerprint: string): boolean {
    return this.lacksRows ? fingerprint.startsWith(this.#prefix) : fingerprint === this.fingerprint
  }

  get #prefix(): string {
    return this.#rows === 'none' ? this.#request : `${this.#request}-`
  }
}

/** Return JSON with the keys of objects in order, because their order has no meaning. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, inOrder)
}

function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value))
    return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
