/** The log of a root moves while processes write, lose answers and die: no acknowledged row is lost or doubled. */
import { describe, expect, test } from 'vitest'
import { fenceOf, moveKey } from '../../src/commit/log-moves.js'
import { decodeGenesis, decodeSlot, encodeMovedGenesis, encodeSlot } from '../../src/commit/slot.js'
import { connect, moveLog, type Namespace, SheafError, schema } from '../../src/index.js'
import { loadAll } from '../../src/lazy-import.js'
import { crcHex } from '../../src/primitives/checksum.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Ambiguous, type BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { selfTest } from '../../src/storage/self-test.js'
import { MemoryLog, type MemorySlots } from '../support/memory-log.js'
import { dead, isInjected, SimulatedProcess } from './process.js'
import { ProcessClock, SimulatedTime, stopSystemClock } from './time.js'
import { Disk, Violation } from './world.js'

const diskName = 'memory://simulation'
const passed = selfTest(new MemoryStore(diskName), systemClock)
const faults = { refused: 0, lostRequest: 0.02, late: 0, lostReply: 0.02, twice: 0, slow: 0.1, travels: 0.5 }
const features: ReadonlySet<string> = new Set(['moved'])
const writers = 3
const rowsEach = 12
const { SHEAF_SEED } = process.env
const worlds = SHEAF_SEED === undefined ? 12 : 100

/** The log of a database, as a process reaches it: calls take time, answers are lost, and a dead process calls no more. */
class FarLog extends MemoryLog {
  readonly #process: SimulatedProcess
  readonly #time: SimulatedTime

  constructor(process: SimulatedProcess, time: SimulatedTime, slots: MemorySlots) {
    super('far', slots)
    this.#process = process
    this.#time = time
  }

  override read(slot: number) {
    return this.#around(() => super.read(slot))
  }

  override async readTogether(first: number, count: number) {
    return this.#around(() => super.readTogether(first, count))
  }

  override append(slot: number, bytes: Uint8Array) {
    return this.#write(() => super.append(slot, bytes))
  }

  override begin(slot: number, bytes: Uint8Array) {
    return this.#write(() => super.begin(slot, bytes))
  }

  async #around<T>(run: () => Promise<T>): Promise<T> {
    await this.#process.clock.ready()
    await this.#time.yield()
    const answer = await run()
    await this.#process.clock.ready()
    return answer
  }

  async #write(run: () => Promise<'won' | 'taken'>): Promise<'won' | 'taken'> {
    const answer = await this.#around(run)
    if (this.#process.store.faults !== null && this.#time.random() < 0.05) throw new Ambiguous('lost')
    return answer
  }
}

type Place = 'files' | 'far'
type Mover = (
  store: BlobStore,
  from: MemoryLog | undefined,
  to: MemoryLog,
  process: SimulatedProcess,
) => Promise<void>

const moveRight: Mover = async (store, from, to, { clock }) => {
  await moveLog('memory://', { store, clock, to, ...(from && { from }) })
}

/** A world from a seed. `diesAt`: the call to the store at which the first process that moves the log dies. */
class MovingWorld {
  readonly time: SimulatedTime
  readonly disk: Disk
  readonly slots: MemorySlots = new Map()
  readonly acknowledged: number[] = []
  readonly unknown: number[] = []
  readonly refused: number[] = []
  place: Place = 'files'
  readonly #mover: Mover

  constructor(seed: number, mover: Mover) {
    this.time = new SimulatedTime(seed)
    this.disk = new Disk(diskName, new ProcessClock(this.time))
    this.#mover = mover
  }

  process(name: string, diesAt = 0, isCalm = false): SimulatedProcess {
    return new SimulatedProcess(name, this.time, this.disk, {
      skewMs: 0,
      slowness: 0,
      jumps: [],
      peeks: true,
      hasTails: false,
      isBucket: false,
      faults: isCalm ? null : { ...faults },
      fate: { diesAt, lastLands: this.time.random() < 0.5, suspendedAt: 0, suspendedMs: 0 },
      tell: undefined,
    })
  }

  /** Open the root with whichever log it has. Waits while the log is being moved. Null: the process died. */
  async open(process: SimulatedProcess): Promise<Namespace | null> {
    for (let tries = 0; ; tries++) {
      const place: Place = tries % 2 === 0 ? this.place : this.place === 'files' ? 'far' : 'files'
      const log = place === 'far' ? { log: new FarLog(process, this.time, this.slots) } : {}
      const opening = connect('memory://', {
        store: process.store,
        clock: process.clock,
        onWarning: () => {},
        ...log,
      })
      const opened = await Promise.race([opening, process.death]).catch((error: unknown) => {
        const isExpected =
          error instanceof SheafError && /moved to|not in "far"|is the log of/.test(error.message)
        if (!isInjected(error) && !(error instanceof Ambiguous) && !isExpected)
          throw new Violation(`cannot open the root: ${error}`)
        return null
      })
      if (opened === dead) return null
      if (opened !== null) {
        this.place = place
        return opened
      }
      await this.time.sleep(50 * this.time.random())
    }
  }

  async write(writer: number): Promise<void> {
    let process = this.process(`W${writer}`, Math.floor(150 * this.time.random()))
    let ns = await this.open(process)
    for (let i = 0; i < rowsEach; i++) {
      await this.time.sleep(20 * this.time.random())
      while (ns === null) {
        process = this.process(`W${writer}`)
        ns = await this.open(process)
      }
      const id = writer * 100 + i
      const added = (async (root: Namespace) => (await root.openTable('t')).add([{ id }]))(ns)
      try {
        const answer = await Promise.race([added, process.death])
        if (answer !== dead) this.acknowledged.push(id)
        else {
          this.unknown.push(id)
          ns = null
        }
      } catch (error) {
        const isUnknown =
          isInjected(error) || (error instanceof SheafError && error.kind === 'commit-state-unknown')
        if (isUnknown) this.unknown.push(id)
        else if (error instanceof SheafError) this.refused.push(id)
        else throw error
        ns = null
      }
    }
  }

  /** Move the log, with one process after the other, until one of them has done it. */
  async move(diesAt: number): Promise<void> {
    await this.time.sleep(100 * this.time.random())
    for (let tries = 0; ; tries++) {
      const process = this.process('mover', tries === 0 ? diesAt : 0, tries > 0)
      const to = new FarLog(process, this.time, this.slots)
      const moved = this.#mover(process.store, undefined, to, process)
      const outcome = await Promise.race([moved, process.death]).catch((error: unknown) => error)
      if (outcome === undefined) return
      if (tries > 5) throw new Violation(`the log cannot be moved: ${outcome}`)
      await this.time.sleep(50)
    }
  }

  async run(diesAt: number): Promise<void> {
    const founder = this.process('founder', 0, true)
    const ns = (await this.open(founder))!
    await ns.createTable('t', [], { schema: schema({ id: 'int64' }) })
    await ns.close()
    const writing = Array.from({ length: writers }, (_, i) => this.write(i))
    await Promise.all([this.move(diesAt), ...writing])
    await this.#audit()
  }

  async #audit(): Promise<void> {
    const process = this.process('audit', 0, true)
    const log = new FarLog(process, this.time, this.slots)
    const { store, clock } = process
    const ns = await connect('memory://', { store, clock, log, create: false, onWarning: () => {} }).catch(
      error => {
        throw new Violation(`cannot open the moved root: ${error}`)
      },
    )
    const rows = await (await ns.openTable('t')).query().select(['id']).toArray()
    const ids = rows.map(({ id }) => Number(id))
    const found = new Set(ids)
    if (found.size < ids.length) throw new Violation('a row is there twice')
    for (const id of this.acknowledged) if (!found.has(id)) throw new Violation(`row ${id} is lost`)
    for (const id of this.refused) if (found.has(id)) throw new Violation(`refused row ${id} is there`)
    const { problems } = await ns.verify()
    if (problems.length > 0) throw new Violation(`verification finds ${JSON.stringify(problems)}`)
    await ns.close()
  }
}

async function simulateMove(seed: number, diesAt: number, mover = moveRight): Promise<MovingWorld> {
  await passed
  await loadAll()
  const start = stopSystemClock()
  const world = new MovingWorld(seed, mover)
  try {
    await world.run(diesAt)
    return world
  } finally {
    world.time.end()
    start()
  }
}

/** Copies the slots before it writes the fence, and gives the fence the next number in the new log. */
const copyFirst: Mover = async (store, _, to, process) => {
  const key = (slot: number) => `_log/${String(slot).padStart(20, '0')}`
  const copies: Uint8Array[] = []
  for (let slot = 0; ; slot++) {
    const bytes = await store.get(key(slot))
    if (bytes === null) break
    copies.push(bytes)
  }
  await process.clock.sleep(20)
  const other = new MemoryLog('far', new Map())
  await moveLog('memory://', { store, clock: process.clock, to: other })
  const fence = decodeSlot((await other.read(await other.last()))!, await other.last(), features)
  const start = decodeGenesis(copies[0]!, features)
  const last = decodeSlot(copies.at(-1)!, copies.length - 1, features)
  const header = { ...fence.header, slot: copies.length, prev: crcHex(last.crc) }
  const moved = encodeSlot(
    header,
    header.entries.map(entry => JSON.stringify(entry)),
    [],
  ).bytes
  for (const [slot, bytes] of [...copies, moved].entries()) {
    if (slot === 1) await to.begin(slot, bytes)
    else if (slot > 1) await to.append(slot, bytes)
  }
  const { move, log } = fenceOf(fence)!
  const first = encodeMovedGenesis(start, { move, slot: copies.length, log, id: 'x' })
  await to.append(0, first)
  await store.delete(moveKey(1))
  await store.putIfAbsent(moveKey(1), first)
}

describe('a log that moves while processes write', () => {
  test('loses and doubles nothing, wherever the process that moves it dies', async () => {
    const first = worlds * (Number(SHEAF_SEED ?? 1) - 1)
    let interrupted = 0
    for (let seed = first; seed < first + worlds; seed++) {
      const { refused } = await simulateMove(seed, 1 + (seed % 40))
      if (refused.length > 0) interrupted++
    }
    expect(interrupted).toBeGreaterThan(worlds / 4)
  }, 300_000)

  test('a copy that is made before the fence is found', async () => {
    let found: unknown = null
    for (let seed = 0; seed < 20 && found === null; seed++) {
      found = await simulateMove(seed, 0, copyFirst).then(
        () => null,
        error => error,
      )
    }
    expect(found).toBeInstanceOf(Violation)
    expect((found as Violation).message).toMatch(/row \d+ is lost|cannot open|verification finds/)
  }, 300_000)
})
