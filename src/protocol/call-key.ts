/** The idempotency key of a call, and a fingerprint that differs if a call with the same key has other content. */
import { createHash } from 'node:crypto'
import { assert } from '../errors.js'

/** Maximum length of a recorded key. Of a longer key, the digest is recorded. */
const keyLengthMax = 128

export class CallKey {
  /** The key in the recorded form: the key itself, or its digest if the key is long. */
  readonly key: string
  readonly #request: string
  /** Digest of the rows of the request. `waiting` before the rows are read, `reading` while they are read. */
  #rows: 'none' | 'waiting' | 'reading' | { readonly digest: string }

  /** `request`: the digest of the name of the operation and its request. `hasRows`: whether the call also has rows. */
  constructor(key: string, request: string, hasRows: boolean) {
    this.key = key.length > keyLengthMax ? digestOf(key) : key
    this.#request = request
    this.#rows = hasRows ? 'waiting' : 'none'
  }

  /** Whether the fingerprint depends on rows whose reading has not begun. */
  get waitsForRows(): boolean {
    return this.#rows === 'waiting'
  }

  /** Whether the fingerprint depends on rows that are not yet completely read. */
  get lacksRows(): boolean {
    return this.#rows === 'waiting' || this.#rows === 'reading'
  }

  beginRows(): void {
    if (this.#rows === 'waiting') this.#rows = 'reading'
  }

  endRows(digest: string): void {
    this.#rows = { digest }
  }

  /** The fingerprint, which is equal for equal calls of any caller. It is available only after all rows were read. */
  get fingerprint(): string {
    assert(!this.lacksRows, 'all rows are read before the fingerprint is used')
    return typeof this.#rows === 'object' ? this.#prefix + this.#rows.digest : this.#prefix
  }

  /**
   * Return whether a recorded fingerprint may belong to this call. Before all rows are read, only the request is
   * compared.
   */
  mayBe(fingerprint: string): boolean {
    return this.lacksRows ? fingerprint.startsWith(this.#prefix) : fingerprint === this.fingerprint
  }

  get #prefix(): string {
    return this.#rows === 'none' ? this.#request : `${this.#request}-`
  }
}

/** Return JSON with sorted keys of objects, so that objects with the same fields have the same text. */
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
