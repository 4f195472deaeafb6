/** A campaign: callers and processes write to one root while parts of the world fail. Then everything is judged. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { type ConnectOptions, connect, type Namespace } from '../../../src/index.js'
import { Callers } from './callers.js'
import { checkSum, createTables, judge } from './judge.js'
import { type BankConfig, BankProcess, type ServingNode } from './processes.js'

/** A world in which a campaign runs. */
export interface World {
  readonly path: string
  /** Options that open the root without the failures of the world. */
  readonly open: () => Promise<ConnectOptions>
  readonly bank: BankConfig
  readonly nodes: readonly ServingNode[]
  /** Let one part fail, and repair it. Called again and again. Null: the world fails by itself. */
  readonly trouble: ((banks: readonly BankProcess[]) => Promise<void>) | null
}

export interface CampaignSize {
  /** Number of calls over HTTP that are acknowledged. */
  readonly operations: number
  readonly callers: number
  readonly banks: number
}

export async function runCampaign(title: string, world: World, size: CampaignSize): Promise<void> {
  const started = Date.now()
  const root = await connect(world.path, await world.open())
  const banks = Array.from({ length: size.banks }, (_, i) => new BankProcess(`bank-${i}`, world.bank))
  const callers = new Callers(world.nodes.map(({ url }) => url))
  let isOver = false
  let troubles = 0
  let snapshots = 0
  const untilOver = async (step: () => Promise<void>) => {
    while (!isOver) await step()
  }
  try {
    await createTables(root, size.callers)
    await Promise.all([...world.nodes, ...banks].map(each => each.start()))
    const failing =
      world.trouble &&
      untilOver(async () => {
        await pause(300 + 1200 * Math.random())
        await world.trouble!(banks)
        troubles++
      })
    const watching = untilOver(async () => {
      await pause(250)
      if (await watch(root)) snapshots++
    })
    const calling = callers.run(size.operations, size.callers).finally(() => {
      isOver = true
    })
    await Promise.all([failing, watching, calling])
    expect(banks.filter(bank => bank.hasFailed)).toEqual([])
    for (const each of [...banks, ...world.nodes]) await each.kill()
    const done = banks.reduce((all, bank) => all + bank.done.size, 0)
    const seconds = Math.round((Date.now() - started) / 1000)
    console.log(
      `${title}: ${callers.count} calls and ${done} transfers acknowledged in ${seconds} s, ${troubles} failures, ` +
        `${callers.repeated} calls repeated, ${snapshots} states checked`,
    )
    const fresh = await connect(world.path, { ...(await world.open()), create: false })
    await judge(fresh, callers, banks)
    await fresh.close()
    expect(done).toBeGreaterThan(0)
    if (world.trouble !== null) expect(troubles).toBeGreaterThan(0)
  } finally {
    isOver = true
    for (const each of [...banks, ...world.nodes]) await each.kill()
    await callers.close()
    await root.close()
  }
}

/** Check a state. Returns false if the store could not be reached. */
async function watch(root: Namespace): Promise<boolean> {
  try {
    const snapshot = await root.snapshot()
    try {
      await checkSum(snapshot)
    } finally {
      await snapshot.close()
    }
    return true
  } catch (error) {
    if ((error as Error).name !== 'ServiceUnavailable') throw error
    return false
  }
}
