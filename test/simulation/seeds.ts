/** The seeds of a test run: `SHEAF_SEED` picks others, and all of its share. */
import { simulate } from './simulate.js'

/** Between the first seeds of two runs. */
const share = 5_000
export const seedsPerRun = process.env.SHEAF_SEED === undefined ? 900 : share

/** Runs the `part`-th of `parts` shares of this run's seeds. Throws the first violation, and names other seeds that fail. */
export async function runSeeds(part: number, parts: number): Promise<void> {
  const first = (Number(process.env.SHEAF_SEED ?? 1) - 1) * share
  const failed: number[] = []
  let violation: unknown
  for (let seed = first + part; seed < first + seedsPerRun && failed.length < 10; seed += parts) {
    await simulate(seed).catch(error => {
      violation ??= error
      failed.push(seed)
    })
    // A world runs on ticks and promises alone; the event loop gets its turn now and then.
    if (seed % 16 < parts) await new Promise(resolve => setImmediate(resolve))
  }
  if (failed.length > 0) throw new Error(`seeds that fail: ${failed.join(', ')}`, { cause: violation })
}
