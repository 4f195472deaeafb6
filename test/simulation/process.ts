/** One process of a simulated world: its clock, its way to the disk, and its end. */
import { ErrorCode, SheafError } from '../../src/errors.js'
import { Ambiguous, type BlobInPlace } from '../../src/storage/blob-store.js'
import type { Processes } from '../../src/storage/processes.js'
import { bootedAs } from '../support/in-place-store.js'
import { WrappedStore } from '../support/stores.js'
import type { ClockJump } from './draw.js'
import { ProcessClock, type SimulatedTime } from './time.js'
import type { Disk } from './world.js'

/** How often each fault befalls a call to the store, 0 to 1. */
export interface NetworkFaults {
  /** Nothing was done, and the caller is told so. */
  readonly refused: number
  /** The request never arrives. */
  readonly lostRequest: number
  /** The request arrives after its caller has given up. */
  readonly late: number
  /** It was done; the reply never arrives. */
  readonly lostReply: number
  /** The request arrives twice; the reply is that of the second. */
  readonly twice: number
  /** It takes up to 100 ms. */
  readonly slow: number
  /** Another task gets to run before the request arrives, and before the reply does. */
  readonly travels: number
}

/** When a process dies or is suspended, counted in calls to the store; 0: never. */
export interface Fate {
  readonly diesAt: number
  /** Whether its last call takes effect. */
  readonly lastLands: boolean
  readonly suspendedAt: number
  readonly suspendedMs: number
}

/** The latest arrival of a put to the log of a bucket: later than sweeps and trims, and before a world ends. */
const latestMs = 900_000

/** Told what a process goes through, line by line; undefined where nobody listens. */
export type Tell = ((process: string, text: string) => void) | undefined

/** Errors that come from the network, so that they are not taken for answers. */
const injected = new WeakSet<object>()

/** Whether a fault of the network is `error` or behind it. */
export function isInjected(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (injected.has(at)) return true
  return false
}

export const dead = Symbol('dead')

export class SimulatedProcess {
  readonly name: string
  readonly clock: ProcessClock
  readonly store: ProcessStore
  /** Resolves when the process dies. */
  readonly death: Promise<typeof dead>
  alive = true
  readonly #tell: Tell
  #died!: (how: typeof dead) => void

  constructor(
    name: string,
    time: SimulatedTime,
    disk: Disk,
    options: {
      readonly skewMs: number
      readonly slowness: number
      readonly jumps: readonly ClockJump[]
      readonly peeks: boolean
      readonly hasTails: boolean
      readonly isBucket: boolean
      readonly faults: NetworkFaults | null
      readonly fate: Fate | null
      readonly tell: Tell
    },
  ) {
    this.name = name
    this.clock = new ProcessClock(time, options.skewMs, options.slowness, options.jumps)
    this.death = new Promise(resolve => {
      this.#died = resolve
    })
    this.#tell = options.tell
    this.store = new ProcessStore(disk, time, this, options)
  }

  /** `text` is asked for only where somebody listens. */
  tell(text: () => string): void {
    this.#tell?.(this.name, text())
  }

  die(): void {
    if (!this.alive) return
    this.tell(() => 'dies')
    this.alive = false
    this.clock.die()
    this.#died(dead)
  }
}

export class ProcessStore extends WrappedStore {
  /** Null: none. May be changed on the way, as `fate`. */
  faults: NetworkFaults | null
  fate: Fate | null
  /** There if processes have tails. */
  readonly openInPlace?: (key: string) => BlobInPlace | null
  readonly processes?: Processes
  readonly #disk: Disk
  readonly #time: SimulatedTime
  readonly #process: SimulatedProcess
  #isBucket = false
  #calls = 0

  constructor(
    disk: Disk,
    time: SimulatedTime,
    owner: SimulatedProcess,
    options: {
      readonly peeks: boolean
      readonly hasTails: boolean
      readonly isBucket: boolean
      readonly faults: NetworkFaults | null
      readonly fate: Fate | null
    },
  ) {
    super(disk)
    this.#disk = disk
    this.#time = time
    this.#process = owner
    this.faults = options.faults
    this.fate = options.fate
    if (options.isBucket) {
      this.replace = (key, bytes) => this.around('replace', false, () => disk.replace(key, bytes), key)
      this.#isBucket = true
    }
    if (!options.peeks || options.isBucket) delete this.peek
    else if (options.hasTails) {
      this.openInPlace = key => this.#openInPlace(key)
      this.processes = bootedAs(disk.boot)
    }
    if (disk.losesNames) this.sync = prefix => this.#sync(prefix)
    else delete this.sync
  }

  #openInPlace(key: string): BlobInPlace | null {
    const blob = this.#disk.inPlace(key)
    if (blob === null) return null
    return {
      size: blob.size,
      ino: blob.ino,
      read: (offset, target) => blob.read(offset, target),
      write: (offset, bytes) => {
        this.#process.tell(() => `writes ${bytes.length} bytes at ${offset} of ${key}`)
        blob.write(offset, bytes)
      },
      sync: () => this.around('sync', false, () => blob.sync(), key),
      close: () => blob.close(),
    }
  }

  async #sync(prefix: string): Promise<void> {
    const { clock } = this.#process
    await clock.ready()
    await this.#time.yield()
    await clock.ready()
    this.#disk.sync(prefix)
  }

  protected async around<T>(
    call: string,
    conditional: boolean,
    run: () => Promise<T>,
    key: string,
  ): Promise<T> {
    const { clock } = this.#process
    await clock.ready()
    if (this.#disk.failsNow()) return new Promise(() => {})
    const diesNow = this.#count(call, key)
    if (diesNow && !this.fate!.lastLands) return this.#die()
    const { faults } = this
    const writes =
      conditional || call === 'put' || call === 'putStream' || call === 'delete' || call === 'replace'
    const say = (fault: string) => this.#process.tell(() => `${call} ${key}: ${fault}`)
    if (faults !== null) {
      if (this.#falls(faults.refused)) {
        say('refused')
        throw marked(new SheafError(ErrorCode.ServiceUnavailable, `${call} ${key} was refused`))
      }
      if (writes && this.#falls(faults.lostRequest)) {
        say('the request is lost')
        throw lost(conditional, `the request of ${call} ${key} was lost`)
      }
      if (writes && this.#falls(faults.late)) {
        say('the request is late')
        this.#later(run, say, this.#isBucket && key.startsWith('_log/') ? latestMs : 2000)
        throw lost(conditional, `the request of ${call} ${key} is late`)
      }
      if (this.#falls(faults.slow)) await this.#time.sleep(100 * this.#time.random())
      else if (this.#falls(faults.travels)) await this.#time.yield()
    }
    let reply = await run()
    // Seen by all, and durable when it is answered, or somebody syncs.
    const hasName = reply === 'won' && key.startsWith('_log/')
    if (hasName) this.#disk.noteName(key)
    if (faults !== null && conditional && this.#falls(faults.twice)) {
      say('arrives twice')
      await this.#time.yield()
      reply = await run()
    }
    if (diesNow) return this.#die()
    if (faults !== null && this.#falls(faults.travels)) await this.#time.yield()
    await clock.ready()
    if (writes) say(textOf(reply))
    if (faults !== null && writes && this.#falls(faults.lostReply)) {
      say('the reply is lost')
      throw lost(conditional, `the reply of ${call} ${key} was lost`)
    }
    if (hasName && reply === 'won') this.#disk.keepNames('_log/')
    return reply
  }

  /** Whether this call is the last. */
  #count(call: string, key: string): boolean {
    const { fate } = this
    if (fate === null) return false
    this.#calls++
    if (this.#calls === fate.suspendedAt) {
      this.#process.tell(() => `is suspended for ${fate.suspendedMs} ms in ${call} ${key}`)
      this.#process.clock.suspend(fate.suspendedMs)
    }
    return this.#calls === fate.diesAt
  }

  async #die(): Promise<never> {
    this.#process.die()
    return new Promise(() => {})
  }

  #later(run: () => Promise<unknown>, say: (text: string) => void, ms: number): void {
    this.#time
      .sleep(ms * this.#time.random())
      .then(run)
      .then(
        reply => say(`arrives late: ${textOf(reply)}`),
        () => {},
      )
  }

  #falls(odds: number): boolean {
    return odds > 0 && this.#time.random() < odds
  }
}

function textOf(reply: unknown): string {
  return reply === undefined ? 'done' : String(reply)
}

function lost(conditional: boolean, message: string): Error {
  return marked(conditional ? new Ambiguous(message) : new Error(message))
}

function marked<E extends Error>(error: E): E {
  injected.add(error)
  return error
}
