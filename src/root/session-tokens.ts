/**
 * Encrypts and decrypts the tokens of read sessions. A token contains the state of a session, encrypted with a key that
 * is stored in the root. Each server of the root can read all tokens. No other process can create, change or decrypt a
 * token.
 *
 *     _keys/read-sessions      {"key":"<64 hexadecimal digits>"}, written with the first session
 *
 * A token is the base64url form of nonce (12 bytes), ciphertext and tag (16 bytes): AES-256-GCM, NIST SP 800-38D.
 */
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import { corrupted, invalidInput } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'

const keyPath = '_keys/read-sessions'
const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** Encrypts and decrypts tokens. */
export class SessionTokens {
  readonly #store: BlobStore
  readonly #clock: Clock
  readonly #readOnly: boolean
  #key: Promise<Uint8Array> | null = null
  /** Whether the key exists only in this process. */
  #isUnwritten = false

  /** `readOnly`: do not write a key. If the root has no key, tokens are valid only in this process. */
  constructor(store: BlobStore, clock: Clock, readOnly: boolean) {
    this.#store = store
    this.#clock = clock
    this.#readOnly = readOnly
  }

  /** Return a function that encrypts a JSON value as a token. */
  async sealing(): Promise<(value: unknown) => string> {
    const key = await this.#loaded()
    return value => {
      const nonce = this.#random().subarray(0, nonceBytes)
      const encrypted = createCipheriv(cipher, key, nonce)
      const text = Buffer.concat([encrypted.update(JSON.stringify(value), 'utf8'), encrypted.final()])
      return Buffer.concat([nonce, text, encrypted.getAuthTag()]).toString('base64url')
    }
  }

  /** Decrypt a token. Throws `InvalidInput` for a token that no server of this root created. */
  async open(token: string): Promise<unknown> {
    const bytes = Buffer.from(token, 'base64url')
    const key = await this.#loaded()
    // Another process may have written a key in the meantime.
    const written = this.#isUnwritten ? await this.#read() : null
    let cause: unknown
    for (const each of written === null ? [key] : [key, written]) {
      try {
        return JSON.parse(decrypted(bytes, each))
      } catch (error) {
        cause = error
      }
    }
    throw invalidInput('the token does not belong to this root, or was changed', {
      hint: 'use the complete tokens that createTableReadSession returned, or begin a new session',
      cause,
    })
  }

  #loaded(): Promise<Uint8Array> {
    this.#key ??= this.#load().catch(error => {
      this.#key = null
      throw error
    })
    return this.#key
  }

  async #load(): Promise<Uint8Array> {
    const known = await this.#read()
    if (known !== null) return known
    const key = this.#random()
    if (this.#readOnly) {
      this.#isUnwritten = true
      return key
    }
    const bytes = Buffer.from(JSON.stringify({ key: key.toString('hex') }))
    // Use the stored key if another process has written its key first.
    return (await this.#store.putIfAbsent(keyPath, bytes)) === 'won' ? key : ((await this.#read()) ?? key)
  }

  async #read(): Promise<Uint8Array | null> {
    const bytes = await this.#store.get(keyPath)
    if (bytes === null) return null
    const [, hex] = /^\{"key":"([0-9a-f]{64})"\}$/.exec(Buffer.from(bytes).toString()) ?? []
    if (hex !== undefined) return Buffer.from(hex, 'hex')
    throw corrupted(`${keyPath} has no valid key`, {
      hint: 'delete the file: this ends all open sessions',
    })
  }

  /** Return 32 random bytes, derived from two UUIDs with 122 random bits each. */
  #random(): Buffer {
    return createHash('sha256').update(`${this.#clock.uuid()}${this.#clock.uuid()}`).digest()
  }
}

/** Return the text of a token. Throws if another key encrypted it, or if it is not a token. */
function decrypted(token: Buffer, key: Uint8Array): string {
  const opened = createDecipheriv(cipher, key, token.subarray(0, nonceBytes), { authTagLength: tagBytes })
  opened.setAuthTag(token.subarray(Math.max(nonceBytes, token.length - tagBytes)))
  const text = opened.update(token.subarray(nonceBytes, -tagBytes))
  return Buffer.concat([text, opened.final()]).toString()
}
