import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dataPath } from '../../../scripts/data.js'
import { failureList, ranOf, summary } from './report.js'
import { newOutcome, type Outcome, readScript, runScript } from './run.js'
import { sheafEngine } from './sheaf-engine.js'
import type { Flavour } from './types.js'

/** Every script of a folder, each in a namespace of its own. */
async function runFolder(folder: string, flavour: Flavour): Promise<Outcome> {
  const outcome = newOutcome()
  const scripts = (readdirSync(folder, { recursive: true }) as string[]).filter(name =>
    /\.(slt|test\.gz)$/.test(name),
  )
  for (const name of scripts.sort()) {
    const path = join(folder, name)
    const engine = await sheafEngine(flavour === 'datafusion')
    await runScript(path, readScript(path), engine, { flavour, folder, outcome })
    await engine.close()
  }
  return outcome
}

/**
 * `floor`: the share that must pass, 90 % or a little under what was reached, whichever is more. `least`: records that run
 * at the least, so that skipping them cannot make the share better.
 */
const folders = [
  { flavour: 'datafusion', floor: 0.91, least: 900 },
  { flavour: 'sqlite', floor: 0.999, least: 28_000 },
] as const

describe.each(folders)(
  'sqllogictest scripts of $flavour (skipped without SHEAF_DATA)',
  ({ flavour, floor, least }) => {
    const folder = dataPath('sql', flavour)

    test.skipIf(folder === null)(
      'at least 90 % of the records give what is expected',
      async () => {
        const outcome = await runFolder(folder!, flavour)
        console.log(summary(flavour, outcome))
        const share = outcome.passed / ranOf(outcome)
        expect(ranOf(outcome)).toBeGreaterThanOrEqual(least)
        expect(share, `\n${failureList(outcome, 50)}\n`).toBeGreaterThanOrEqual(floor)
      },
      300_000,
    )
  },
)
