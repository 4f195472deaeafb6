import { describe, expect, test } from 'vitest'
import { examine } from '../../../adapters/cli/doctor.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import type { BlobStore } from '../../../src/storage/blob-store.js'
import { MemoryStore } from '../../../src/storage/memory-store.js'

const sizes = { races: 3, listed: 5, streamed: 100 }

async function examined(store: BlobStore, { json = false, network = null as string | null } = {}) {
  const texts: string[] = []
  const print = (text: string) => texts.push(text)
  const fit = await examine({ store, network }, 's3://b/p', { ...sizes, json, print })
  const text = texts.join('\n')
  return { fit, text, verdict: text.split('\n').at(-1)! }
}

/** Accepts the second conditional put silently, as some servers do. */
class CarelessStore extends MemoryStore {
  override async putIfAbsent(key: string, bytes: Uint8Array): Promise<'won' | 'taken'> {
    await this.delete(key)
    return super.putIfAbsent(key, bytes)
  }
}

/** Fails to write blobs that have no condition. */
class FailingStore extends MemoryStore {
  readonly #code: ErrorCode
  readonly #hint: string | undefined
  constructor(code: ErrorCode, hint?: string) {
    super()
    this.#code = code
    this.#hint = hint
  }
  override async put(): Promise<void> {
    throw new SheafError(this.#code, 'cannot write "k" in s3://b: the answer of the server', {
      hint: this.#hint,
    })
  }
}

describe('sheaf doctor', () => {
  test('a store that keeps all guarantees is fit', async () => {
    const { fit, text, verdict } = await examined(new MemoryStore())
    expect([fit, verdict]).toEqual([true, 's3://b/p is fit for a root.'])
    expect(text).not.toContain('FAILED')
  })

  test('a directory on a network file system is fit for one machine', async () => {
    const { fit, verdict } = await examined(new MemoryStore(), { network: 'NFS' })
    expect(fit).toBe(true)
    expect(verdict).toMatch(/^s3:\/\/b\/p is fit for a root that only one machine uses, because it is on NFS/)
  })

  test('a store that accepts a second conditional put is not fit, and the last sentence says why', async () => {
    const { fit, text, verdict } = await examined(new CarelessStore())
    expect(fit).toBe(false)
    expect(text).toMatch(
      /^FAILED {2}a second conditional put is refused .*\n {8}second putIfAbsent: expected "taken", got "won"$/m,
    )
    expect(verdict).toBe(
      's3://b/p is not fit, because it breaks the guarantee "a second conditional put is refused", so two processes may write the same commit, and one of the commits is lost: use another server, or a newer version of this server.',
    )
    const json = JSON.parse((await examined(new CarelessStore(), { json: true })).text)
    expect(json).toMatchObject({ path: 's3://b/p', fit: false, verdict })
    expect(json.checks.find((check: { passed: boolean }) => !check.passed)).toMatchObject({
      name: 'a second conditional put is refused',
      error: 'second putIfAbsent: expected "taken", got "won"',
    })
  })

  test.each([
    [new FailingStore(ErrorCode.PermissionDenied), /the credentials lack a permission \(cannot write "k"/],
    [
      new FailingStore(ErrorCode.ServiceUnavailable),
      /not fit now, because some calls failed .*run sheaf doctor again/,
    ],
    [
      new FailingStore(ErrorCode.Unsupported, 'use a general purpose bucket'),
      /: use a general purpose bucket\.$/,
    ],
  ])('the last sentence says what to do about errors of the server', async (store, expected) => {
    const { fit, verdict } = await examined(store)
    expect(fit).toBe(false)
    expect(verdict).toMatch(expected)
  })

  test('a broken guarantee is worse than a call that failed', async () => {
    class WorseStore extends FailingStore {
      override async putIfAbsent(key: string, bytes: Uint8Array): Promise<'won' | 'taken'> {
        await this.delete(key)
        return super.putIfAbsent(key, bytes)
      }
    }
    const { verdict } = await examined(new WorseStore(ErrorCode.ServiceUnavailable))
    expect(verdict).toContain('"a second conditional put is refused"')
  })

  test('an error of the first call is the error of the command', async () => {
    class AbsentBucket extends MemoryStore {
      override list(): never {
        throw new SheafError(ErrorCode.NamespaceNotFound, 'no bucket')
      }
    }
    await expect(examined(new AbsentBucket())).rejects.toThrow('no bucket')
  })
})
