/** Worlds in which old versions, files and slots go: everything else stays, whoever is slow, asleep or away meanwhile. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { BlobLog } from '../../src/commit/blob-log.js'
import { simulate } from './simulate.js'
import { Violation } from './world.js'

test('worlds with maintenance keep every guarantee', async () => {
  const first = (Number(process.env.SHEAF_SEED ?? 1) - 1) * 10_000
  for (let seed = first; seed < first + 100; seed++) await simulate(seed, { tidy: true })
}, 600_000)

describe('the simulation detects', () => {
  afterEach(() => vi.restoreAllMocks())

  /** Return the seed and the error of the first world that breaks a promise. */
  async function firstViolation(): Promise<string> {
    for (let seed = 0; seed < 200; seed++) {
      const error = await simulate(seed, { tidy: true }).then(
        () => null,
        error => error,
      )
      if (error !== null) {
        expect(error).toBeInstanceOf(Violation)
        return `${seed}: ${error.message}`
      }
    }
    return 'none'
  }

  test('a missing check of the slot before', async () => {
    vi.spyOn(BlobLog.prototype, 'has').mockResolvedValue(true)
    expect(await firstViolation()).toMatch(/seed/)
  }, 600_000)
})
