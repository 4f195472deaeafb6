/**
 * Workers that die and are suspended, over a network that loses and repeats: each job and each unit lands once, and only
 * under a valid claim. Nodes write, ask for indexes and cancel jobs, and do no maintenance.
 */
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import type { CatalogEntry } from '../../src/catalog/log-types.js'
import type { CatalogState, Job } from '../../src/catalog/state.js'
import { Committer } from '../../src/commit/committer.js'
import type { Proposal } from '../../src/commit/machine.js'
import { decodeGenesis, decodeSlot } from '../../src/commit/slot.js'
import { formatTransactionId } from '../../src/commit/transaction-id.js'
import { work } from '../../src/index.js'
import type { JobOp } from '../../src/jobs/job-op.js'
import { loadAll } from '../../src/lazy-import.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { selfTest } from '../../src/storage/self-test.js'
import { WrappedStore } from '../support/stores.js'
import { Machine } from './machine.js'
import { dead, isInjected, type NetworkFaults, SimulatedProcess } from './process.js'
import { ProcessClock, SimulatedTime, stopSystemClock } from './time.js'
import { Disk, Violation } from './world.js'

const diskName = 'memory://work-simulation'
/** Rows of a unit. */
const segmentRows = 16
const faults: NetworkFaults = {
  refused: 0.01,
  lostRequest: 0.01,
  late: 0.01,
  lostReply: 0.01,
  twice: 0.01,
  slow: 0.2,
  travels: 0.5,
}

beforeAll(async () => {
  await selfTest(new MemoryStore(diskName), systemClock)
  await loadAll()
  await import('p-queue')
})

afterEach(() => vi.restoreAllMocks())

/** Suspends its process for longer than a lease, before the process commits what it has just written. */
class SuspendingStore extends WrappedStore {
  readonly #process: SimulatedProcess
  readonly #suspends: () => boolean

  constructor(process: SimulatedProcess, suspends: () => boolean) {
    super(process.store)
    this.#process = process
    this.#suspends = suspends
  }

  protected override async around<T>(call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
    const result = await run()
    if (call === 'putStream' && this.#suspends())
      this.#process.clock.suspend(70_000 + 100_000 * this.#process.clock.random())
    return result
  }
}

/** A machine on which a worker runs, and another one after its death. */
class WorkerMachine {
  readonly #time: SimulatedTime
  readonly #disk: Disk
  readonly #stop = new AbortController()
  #process!: SimulatedProcess
  #isCalm = false

  constructor(time: SimulatedTime, disk: Disk) {
    this.#time = time
    this.#disk = disk
    this.#live()
  }

  /** From here on nothing fails. */
  calm(): void {
    this.#isCalm = true
    this.#process.store.faults = null
    this.#process.store.fate = null
  }

  async #live(): Promise<void> {
    const { random } = this.#time
    const upTo = (n: number) => 1 + Math.floor(n * random())
    for (let lives = 0; ; lives++) {
      const process = new SimulatedProcess(`worker ${lives}`, this.#time, this.#disk, {
        skewMs: 0,
        slowness: 0,
        jumps: [],
        peeks: random() < 0.5,
        hasTails: false,
        isBucket: false,
        faults: this.#isCalm ? null : { ...faults },
        fate: this.#isCalm
          ? null
          : {
              diesAt: lives < 3 && random() < 0.6 ? upTo(250) : 0,
              lastLands: random() < 0.5,
              suspendedAt: 0,
              suspendedMs: 0,
            },
        tell: undefined,
      })
      this.#process = process
      const { clock } = process
      const store = new SuspendingStore(process, () => !this.#isCalm && random() < 0.35)
      const working = work('memory://', {
        store,
        clock,
        segmentRows,
        signal: this.#stop.signal,
        onWarning: () => {},
      })
      const how = await Promise.race([working, process.death]).catch((error: unknown) => {
        if (!isInjected(error)) throw error
      })
      if (how !== dead && this.#stop.signal.aborted) return
      await this.#time.sleep(500)
    }
  }
}

interface Tally {
  readonly landed: number
  readonly units: number
  readonly taken: number
  readonly compactions: number
}

/** Replay the log. Throws `Violation` if an entry was committed under a claim that was not valid, or a job ended twice. */
function audit(disk: Disk): Tally {
  const { genesis } = decodeGenesis(disk.log.get(0)!, catalogMachine.features)
  let state: CatalogState = catalogMachine.initial(genesis)
  let landed = 0
  let units = 0
  let taken = 0
  let compactions = 0
  const ended = new Set<string>()
  for (let number = 1; number <= disk.head; number++) {
    const { header } = decodeSlot(disk.log.get(number)!, number, catalogMachine.features)
    for (const [i, entry] of (header.entries as readonly CatalogEntry[]).entries()) {
      for (const needed of entry.req as readonly { readonly job?: string; readonly epoch?: number }[]) {
        if (needed.job === undefined) continue
        const claim = state.jobs.get(needed.job)
        if (claim?.epoch !== needed.epoch)
          throw new Violation(`slot ${number} was committed without a valid claim of ${needed.job}`)
      }
      for (const op of entry.ops) {
        if (op.op !== 'job') continue
        const id = op.id ?? formatTransactionId(number, entry.txn)
        if (op.state === 'Running' && op.epoch > 1) taken++
        if (op.state !== 'Succeeded') continue
        if (ended.has(id)) throw new Violation(`job ${id} landed twice`)
        ended.add(id)
        if (id.includes('.')) units++
        else if (entry.ops.some(each => each.op === 'change' && each.kind === 'index')) landed++
        else if (entry.ops.some(each => each.op === 'change' && each.kind === 'compaction')) compactions++
      }
      try {
        state = catalogMachine.apply(state, entry, { slot: number, entry: i, ts: header.ts })
      } catch (error) {
        throw new Violation(`slot ${number} does not fit the state before it: ${String(error)}`)
      }
    }
  }
  if (state.jobs.size > 0) throw new Violation(`job ${[...state.jobs.keys()][0]} has not ended`)
  return { landed, units, taken, compactions }
}

async function world(seed: number): Promise<Tally> {
  const time = new SimulatedTime(seed)
  const disk = new Disk(diskName, new ProcessClock(time))
  const draw = (n: number) => Math.floor(time.random() * n)
  const founder = new Machine('founder', time, disk, 'elsewhere', [])
  const first = Array.from({ length: 100 }, (_, id) => ({ id, kind: id % 5 }))
  expect(await founder.call(ns => ns.createTable('t', first))).toHaveProperty('done')
  const nodes = ['A', 'B'].map(name => {
    const deaths = Array.from({ length: draw(2) }, () => 20 + draw(200))
    return new Machine(name, time, disk, 'elsewhere', deaths)
  })
  const workers = [0, 1, 2].map(() => new WorkerMachine(time, disk))
  const there = new Set(first.map(({ id }) => id))
  const maybe = new Set<number>()
  const live = async (node: Machine, n: number) => {
    for (let step = 0; step < 5; step++) {
      await time.sleep(draw(3) * draw(20_000))
      const ids = Array.from({ length: 1 + draw(12) }, (_, i) => 1000 * (n + 1) + 100 * step + i)
      const added = await node.call(async ns =>
        (await ns.openTable('t')).add(ids.map(id => ({ id, kind: n }))),
      )
      for (const id of ids) (typeof added === 'object' && 'done' in added ? there : maybe).add(id)
      const column = ['id', 'kind'][draw(2)]!
      const replace = draw(2) === 0
      await node.call(async ns => {
        await (await ns.openTable('t')).createIndex(column, { type: 'BTREE', name: column, replace })
      })
      if (draw(4) > 0) continue
      await time.sleep(draw(3000))
      await node.call(async ns => {
        const [job] = await ns.listJobs()
        if (job !== undefined) await ns.cancelJob(job.id)
      })
    }
  }
  try {
    await Promise.all(nodes.map(live))
    for (const each of [...nodes, ...workers]) each.calm()
    await time.sleep(300_000)
    // The nodes do no maintenance, so the last rows are compacted after a commit that a worker sees.
    await founder.call(async ns =>
      (await ns.openTable('t')).createIndex('id', { type: 'BTREE', name: 'last' }),
    )
    await time.sleep(200_000)
    const tally = audit(disk)
    const end = await founder.call(async ns => {
      const table = await ns.openTable('t')
      const rows = await table.query().limit(100_000).toArray()
      const { problems } = await ns.verify()
      return { ids: rows.map(({ id }) => Number(id)), problems, stats: await table.indexStats('last') }
    })
    if (typeof end !== 'object' || !('done' in end))
      throw new Violation(`the end cannot be read: ${JSON.stringify(end)}`)
    const { ids, problems, stats } = end.done
    for (const { path, what } of problems) throw new Violation(`${path}: ${what}`)
    if (new Set(ids).size !== ids.length) throw new Violation('rows are doubled')
    for (const id of there) if (!ids.includes(id)) throw new Violation(`row ${id} is lost`)
    for (const id of ids) if (!there.has(id) && !maybe.has(id)) throw new Violation(`row ${id} was not added`)
    if (stats?.status !== 'ready') throw new Violation('the last index is not ready')
    return tally
  } catch (error) {
    throw error instanceof Violation ? new Violation(`seed ${seed}: ${error.message}`) : error
  } finally {
    time.end()
  }
}

async function inSimulatedTime<T>(run: () => Promise<T>): Promise<T> {
  const start = stopSystemClock()
  try {
    return await run()
  } finally {
    start()
  }
}

const { SHEAF_SEED } = globalThis.process.env
const kept = SHEAF_SEED === undefined ? 8 : 100

test('every job and every unit lands once, under a valid claim', async () => {
  const all = { landed: 0, units: 0, taken: 0, compactions: 0 }
  await inSimulatedTime(async () => {
    const first = kept * (Number(SHEAF_SEED ?? 1) - 1)
    for (let seed = first; seed < first + kept; seed++) {
      const tally = await world(seed)
      for (const each of Object.keys(all) as (keyof Tally)[]) all[each] += tally[each]
    }
  })
  console.log(`${kept} worlds: ${JSON.stringify(all)}`)
  for (const count of Object.values(all)) expect(count).toBeGreaterThan(0)
}, 600_000)

/** Commit results although the claim is lost: proposals see each claim of their process as it was made. */
function plantUncheckedClaims(): void {
  type Commit = Committer<CatalogState>['commit']
  const { commit } = Committer.prototype as { commit: Commit }
  const claimsOf = new WeakMap<object, Map<string, Job>>()
  vi.spyOn(Committer.prototype as { commit: Commit }, 'commit').mockImplementation(function (
    this: Committer<CatalogState>,
    ...[propose, options]: Parameters<Commit>
  ) {
    const claims = claimsOf.get(this) ?? new Map<string, Job>()
    claimsOf.set(this, claims)
    const unchecked = (state: CatalogState, at: Parameters<typeof propose>[1]) => {
      const proposal = propose(state, at) as Proposal<JobOp> | null
      for (const op of proposal?.ops ?? []) {
        const job = op.op === 'job' && op.state === 'Running' ? state.jobs.get(op.id) : undefined
        if (job !== undefined) claims.set(job.id, { ...job, status: 'Running', epoch: job.epoch + 1 })
      }
      if (proposal !== null) return proposal
      const jobs = [...claims].reduce((all, [id, claim]) => all.set(id, claim), state.jobs)
      const late = propose({ ...state, jobs }, at) as Proposal<JobOp> | null
      return late?.ops.some(op => op.op === 'job' && op.state === 'Succeeded') ? late : null
    }
    return commit.call(this, unchecked as typeof propose, options)
  } as Commit)
}

// About one in 100 worlds finds it. test/jobs/lost-owner.test.ts has this one case on its own.
test.runIf(SHEAF_SEED !== undefined)(
  'a landing without a check of the claim is found',
  async () => {
    plantUncheckedClaims()
    let found: unknown = null
    await inSimulatedTime(async () => {
      for (let seed = 0; seed < 1000 && found === null; seed++) {
        found = await world(seed).then(
          () => null,
          (error: unknown) => error,
        )
      }
    })
    expect(String(found)).toMatch(/without a valid claim|landed twice|does not fit|is not open|corrupted/)
  },
  600_000,
)
