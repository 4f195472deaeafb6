/** Compares secrets without revealing them through timing. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { invalidInput, quote } from '../../src/errors.js'

/**
 * Finds the owner of a secret. It keeps only digests, and compares a guess with all of them in constant time. So the
 * time shows neither how much of a guess is right nor whose secret it is.
 */
export class Secrets {
  readonly #owners: { readonly name: string; readonly digest: Buffer }[] = []

  /**
   * `place`: the name of the option in messages. Messages never contain a secret. Throws InvalidInput for a value that
   * is not an object of secrets by name.
   */
  constructor(secrets: Readonly<Record<string, string>>, place: string) {
    if (typeof secrets !== 'object' || secrets === null || Array.isArray(secrets)) {
      throw invalidInput(`${place} must be an object that maps names to secrets`)
    }
    for (const [name, secret] of Object.entries(secrets)) {
      if (typeof secret !== 'string' || secret === '') {
        throw invalidInput(`the secret of ${quote(name)} in ${place} must be a string that is not empty`)
      }
      const other = this.ownerOf(secret)
      if (other !== undefined) {
        throw invalidInput(`${quote(other)} and ${quote(name)} have the same secret in ${place}`)
      }
      this.#owners.push({ name, digest: digestOf(secret) })
    }
  }

  get size(): number {
    return this.#owners.length
  }

  ownerOf(secret: string): string | undefined {
    const digest = digestOf(secret)
    let owner: string | undefined
    for (const known of this.#owners) if (timingSafeEqual(known.digest, digest)) owner = known.name
    return owner
  }
}

function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
