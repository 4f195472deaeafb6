/** Compares secrets without revealing them. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { invalidInput, quote } from '../../src/errors.js'

/**
 * Finds the owner of a secret. Only digests are kept and compared, and always all of them: the time tells neither how much of a guess is
 * right nor whose secret it was.
 */
export class Secrets {
  readonly #owners: { readonly name: string; readonly digest: Buffer }[] = []

  /**
   * `place` names the option in messages, which never show a secret. Throws InvalidInput for a value that does not map names to secrets.
   */
  constructor(secrets: Readonly<Record<string, string>>, place: string) {
    if (typeof secrets !== 'object' || secrets === null || Array.isArray(secrets)) {
      throw invalidInput(`${place} must be an object of secrets by name`)
    }
    for (const [name, secret] of Object.entries(secrets)) {
      if (typeof secret !== 'string' || secret === '') {
        throw invalidInput(`the secret of ${quote(name)} in ${place} must be a text that is not empty`)
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
