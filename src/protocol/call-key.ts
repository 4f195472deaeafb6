/** The idempotency key of a call, and the fingerprint that tells the call from others under that key. */
import { createHash } from 'node:crypto'
import { assert } from '../errors.js'

/** Keys longer than this are recorded as their digest. */
const keyLengthMax = 128

export class CallKey {
  /** As it is recorded. */
  readonly key: string
  readonly #request: string
  /** Of the rows beside the request: their digest; `waiting` until somebody begins to read them, then `reading`. */
  #rows: 'none' | 'waiting' | 'reading' | { readonly digest: string }

  /** `request`: digest of the operation and its request. */
  constructor(key: string, request: string, hasRows: boolean) {
    this.key = key.length > keyLengthMax ? digestOf(key) : key
    this.#request = request
    this.#rows = hasRows ? 'waiting' : 'none'
  }

  /** Whether the fingerprint depends on rows that nobody has begun to read. */
  get waitsForRows(): boolean {
    return this.#rows === 'waiting'
  }

  /** Whether the fingerprint depends on rows that were not read to their end. */
  get lacksRows(): boolean {
    return this.#rows === 'waiting' || this.#rows === 'reading'
  }

  beginRows(): void {
    if (this.#rows === 'waiting') this.#rows = 'reading'
  }

  endRows(digest: string): void {
    this.#rows = { digest }
  }

  /** Equal for equal calls, whoever sends them. There is none before all rows were read. */
  get fingerprint(): string {
    assert(!this.lacksRows, 'a fingerprint without the rows of its call')
    return typeof this.#rows === 'object' ? this.#prefix + this.#rows.digest : this.#prefix
  }

  /** Whether a call of this fingerprint may be this one, as far as the fingerprint is known by now. */
  mayBe(fingerprint: string): boolean {
    return this.lacksRows ? fingerprint.startsWith(this.#prefix) : fingerprint === this.fingerprint
  }

  get #prefix(): string {
    return this.#rows === 'none' ? this.#request : `${this.#request}-`
  }
}

/** JSON in which the keys of objects are in order: which comes first means nothing. */
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
