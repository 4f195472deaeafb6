/** Worlds in which old versions, files and slots go: everything else stays, whoever is slow, asleep or away meanwhile. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import { BlobLog } from '../../src/commit/blob-log.js'
import type { Plan } from './draw.js'
import { simulate } from './simulate.js'
import { Violation } from './world.js'

test('worlds with maintenance keep every guarantee', async () => {
  const first = (Number(process.env.SHEAF_SEED ?? 1) - 1) * 10_000
  for (let seed = first; seed < first + 100; seed++) await simulate(seed, { tidy: true })
}, 600_000)

describe('the simulation detects', () => {
  afterEach(() => vi.restoreAllMocks())

  /** What the first of the worlds from `first` on that breaks a promise says. */
  async function firstViolation(first: number, change?: (plan: Plan) => Plan): Promise<string> {
    for (let seed = first; seed < first + 600; seed++) {
      const error = await simulate(seed, { tidy: true, ...(change && { change }) }).then(
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

  test('files that enter the log below the GC watermark', async () => {
    vi.spyOn(catalogMachine, 'check').mockImplementation(() => {})
    // A process that opens the root for one call has nothing to give up.
    const change = (plan: Plan): Plan => ({ ...plan, areBrief: false, hasTails: false })
    expect(await firstViolation(2000, change)).toMatch(/missing|not there/)
  }, 600_000)

  test('a missing check of the slot before', async () => {
    vi.spyOn(BlobLog.prototype, 'has').mockResolvedValue(true)
    expect(await firstViolation(0)).toMatch(/seed/)
  }, 600_000)
})
