/**
 * Time for a whole world of processes. It stands still while anything can run: when everything waits, one waiter is
 * woken, drawn from the seed among those that only yielded; when there is none, time jumps to the next sleeper. So a
 * seed fixes a history, and every order in which two tasks can meet has its seeds.
 */
import { type Clock, systemClock } from '../../src/primitives/clock.js'
import { randomFrom } from '../support/clock.js'
import type { ClockJump } from './draw.js'

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

export class SimulatedTime {
  readonly random: () => number
  #elapsed = 0
  readonly #yielded: (() => void)[] = []
  readonly #sleepers: Sleeper[] = []
  #turning = false
  #isOver = false

  constructor(seed: number) {
    this.random = randomFrom(seed)
  }

  /** Milliseconds since the world began. */
  get elapsed(): number {
    return this.#elapsed
  }

  /** Time passes while something runs. */
  advance(ms: number): void {
    this.#elapsed += ms
  }

  sleep(ms: number): Promise<void> {
    return new Promise(wake => {
      this.#sleepers.push({ until: this.#elapsed + ms, wake })
      this.#turn()
    })
  }

  yield(): Promise<void> {
    return new Promise(wake => {
      this.#yielded.push(wake)
      this.#turn()
    })
  }

  /** Nobody wakes any more: processes that have something to do now and then would go on for ever. */
  end(): void {
    this.#isOver = true
  }

  /** A tick that a promise callback asks for comes when no promise callback is left: everything waits. */
  #turn(): void {
    if (this.#turning || this.#isOver) return
    this.#turning = true
    queueMicrotask(() => process.nextTick(this.#wakeOne))
  }

  readonly #wakeOne = (): void => {
    this.#turning = false
    if (this.#isOver) return
    const yielded = this.#yielded
    const sleepers = this.#sleepers
    if (yielded.length > 0) take(yielded, Math.floor(this.random() * yielded.length))()
    else if (sleepers.length > 0) {
      let next = 0
      for (let i = 1; i < sleepers.length; i++) if (sleepers[i]!.until < sleepers[next]!.until) next = i
      const { until, wake } = take(sleepers, next)
      this.#elapsed = Math.max(this.#elapsed, until)
      wake()
    }
    if (yielded.length + sleepers.length > 0) this.#turn()
  }
}

function take<T>(list: T[], index: number): T {
  return list.splice(index, 1)[0]!
}

const begin = 1_700_000_000_000

/**
 * Stop the elapsed time of the clock of the machine. Otherwise work that paces itself by it would pause now and then, and
 * seeds would not repeat. Returns a function that starts it again.
 */
export function stopSystemClock(): () => void {
  const { elapsed } = systemClock
  systemClock.elapsed = () => 0
  return () => {
    systemClock.elapsed = elapsed
  }
}

/** The clock of one process: its wall clock may be wrong, it can be suspended, and once dead it wakes nobody. */
export class ProcessClock implements Clock {
  readonly #time: SimulatedTime
  readonly #skewMs: number
  readonly #slowness: number
  readonly #jumps: readonly ClockJump[]
  #awake: Promise<void> | null = null
  #dead = false
  /** Told of every identifier it gives out. */
  onUuid: (uuid: string) => void = () => {}

  /** `slowness`: how often a look at the clock shows that time has passed; 0: work takes no time. */
  constructor(time: SimulatedTime, skewMs = 0, slowness = 0, jumps: readonly ClockJump[] = []) {
    this.#time = time
    this.#skewMs = skewMs
    this.#slowness = slowness
    this.#jumps = jumps
  }

  now(): number {
    const { elapsed } = this.#time
    let now = begin + Math.floor(elapsed) + this.#skewMs
    for (const { atMs, byMs } of this.#jumps) if (elapsed >= atMs) now += byMs
    return now
  }

  elapsed(): number {
    if (this.#slowness > 0 && this.random() < this.#slowness) this.#time.advance(10)
    return this.#time.elapsed
  }

  random(): number {
    return this.#time.random()
  }

  uuid(): string {
    let hex = ''
    for (let i = 0; i < 4; i++)
      hex += Math.floor(this.random() * 2 ** 32)
        .toString(16)
        .padStart(8, '0')
    const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
    this.onUuid(uuid)
    return uuid
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    await this.#time.sleep(ms)
    await this.ready()
    signal?.throwIfAborted()
  }

  async yield(): Promise<void> {
    await this.#time.yield()
    await this.ready()
  }

  /** Nothing the process waits for comes to it for `ms`. */
  suspend(ms: number): void {
    this.#awake = this.#time.sleep(ms).then(() => {
      this.#awake = null
    })
  }

  /** From here on nothing the process waits for ever comes. */
  die(): void {
    this.#dead = true
  }

  /** Resolves when the process can act. */
  async ready(): Promise<void> {
    if (this.#awake !== null) await this.#awake
    if (this.#dead) await new Promise(() => {})
  }
}
