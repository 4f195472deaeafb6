/** One seed, one world, one audit. */

import { loadAll } from '../../src/lazy-import.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { selfTest } from '../../src/storage/self-test.js'
import { audit } from './audit.js'
import { drawPlan, type Plan } from './draw.js'
import { type ProcessClock, stopSystemClock } from './time.js'
import { type Call, Disk, type Janitor, Violation, World } from './world.js'

export interface SimulationOptions {
  /** Told what happens, line by line. */
  readonly tell?: (line: string) => void
  /** Whether old things go. */
  readonly tidy?: boolean
  /** The disk, for worlds in which it breaks its promises. */
  readonly makeDisk?: (clock: ProcessClock) => Disk
  /** Changes what the seed draws. */
  readonly change?: (plan: Plan) => Plan
  /** Work of the processes in addition to maintenance. */
  readonly janitor?: Janitor
}

const diskName = 'memory://simulation'
/** Done once per process for each name of a store, so it must not be part of a world. */
const passed = selfTest(new MemoryStore(diskName), systemClock)

/** Runs the world of a seed and audits it. Throws `Violation`, with the way to see it again. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<readonly Call[]> {
  const { tell, tidy = false, makeDisk = clock => new Disk(diskName, clock) } = options
  await passed
  // The first world would wait for it, in hours of its own.
  await loadAll()
  await import('p-queue')
  // Most errors in a world are answers, and where they were made is not asked: half of the cost of one.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const start = stopSystemClock()
  const plan = drawPlan(seed, tidy)
  const world = new World(options.change?.(plan) ?? plan, tell, makeDisk, options.janitor)
  try {
    const history = await world.run()
    await audit(history)
    return history.calls
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    throw new Violation(
      `seed ${seed}: ${error.message}\nsee it happen: npm run story -- --seed ${seed}${tidy ? ' --tidy' : ''}`,
      {
        cause: error,
      },
    )
  } finally {
    world.time.end()
    Error.stackTraceLimit = stackTraceLimit
    start()
  }
}
