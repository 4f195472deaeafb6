/** Nothing that a client sends harms a server: not what it holds, not what it answers to others, not its memory. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryRoots } from '../../support/roots.js'
import { built } from '../built.js'
import type { CampaignOutcome } from './fuzz-campaign.js'

const seed = Number(process.env.SHEAF_SEED ?? 1)
const count = Number(process.env.SHEAF_FUZZ ?? 12_000)
const freshFolder = temporaryRoots()

/** What came of one campaign after another at one root. */
async function campaigns(root: string, ...counts: readonly number[]): Promise<readonly CampaignOutcome[]> {
  const program = built('test/adapters/http/fuzz-campaign.ts')
  const child = fork(program, [root, seed, ...counts].map(String), {
    execArgv: ['--expose-gc', '--max-semi-space-size=16'],
    serialization: 'advanced',
  })
  const outcomes: CampaignOutcome[] = []
  child.on('message', outcome => outcomes.push(outcome as CampaignOutcome))
  expect(await once(child, 'exit')).toEqual([0, null])
  if (process.env.SHEAF_FUZZ_PRINT) console.log(outcomes.map(({ statuses }) => [...statuses].sort()))
  expect(outcomes.flatMap(({ faults }) => faults)).toEqual([])
  expect(outcomes).toHaveLength(counts.length)
  return outcomes
}

test(`${count} hostile requests`, async () => {
  const [before, after] = await campaigns('memory://', Math.min(count / 20, 10_000), count)
  // What chance has written stays, and its log.
  expect(after!.bytesLeft - before!.bytesLeft).toBeLessThan(15e6 + 500 * count)
}, 3_600_000)

test('nothing is written outside the root', async () => {
  const folder = `${freshFolder()}/root`
  await campaigns(folder, 300)
  expect(readdirSync(dirname(folder))).toEqual(['root'])
})
