/** Processes over one root that campaigns kill and start again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { untilItAnswers } from '../server.js'

const here = resolve('test/stores/campaigns')
const withPeers = ['--import', resolve(here, 'find-peers.mjs')]

/** A process, and how to start it again. */
abstract class Restarted {
  protected child: ChildProcess | null = null

  /** End the process at once, as a crash does. */
  async kill(): Promise<void> {
    const child = this.child
    this.child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  abstract start(): Promise<void>
}

/** Where a node listens. `inNetwork`: the words before a command that run it in another network. */
export interface Place {
  readonly host: string
  readonly port: number
  readonly inNetwork: readonly string[]
}

/** A process of `sheaf serve`. */
export class ServingNode extends Restarted {
  readonly url: string
  readonly #command: readonly string[]
  readonly #env: Readonly<Record<string, string>>

  /** `options`: further arguments of the command. */
  constructor(
    root: string,
    place: Place,
    env: Readonly<Record<string, string>>,
    options: readonly string[] = [],
  ) {
    super()
    const { host, port, inNetwork } = place
    this.url = `http://${host}:${port}`
    this.#env = env
    const program = [process.execPath, ...withPeers, resolve('dist/lib/cli.js'), 'serve', root]
    const listen = ['--host', host, '--port', String(port), '--allow-anonymous', '--log', 'none']
    this.#command = [...inNetwork, ...program, ...listen, ...options]
  }

  async start(): Promise<void> {
    const [command, ...args] = this.#command
    const env = { ...process.env, ...this.#env }
    const child = spawn(command!, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    this.child = child
    await untilItAnswers('sheaf serve', child, async () => {
      const reply = await fetch(`${this.url}/readyz`).catch(() => null)
      return reply?.status === 200
    })
  }

  /** Ask the process to end, and return its exit code. */
  async terminate(): Promise<number | null> {
    const child = this.child!
    this.child = null
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number | null]
    return code
  }
}

/** The root that a bank process opens. */
export interface BankConfig {
  readonly path: string
  readonly storage: object
  readonly postgres?: object
}

/** A process that moves money (`bank-process.mjs`), and what it has printed in all its lives. */
export class BankProcess extends Restarted {
  readonly begun = new Set<string>()
  readonly done = new Set<string>()
  readonly #name: string
  readonly #config: BankConfig
  #lives = 0

  constructor(name: string, config: BankConfig) {
    super()
    this.#name = name
    this.#config = config
  }

  async start(): Promise<void> {
    const name = `${this.#name}.${this.#lives++}`
    const args = [...withPeers, resolve(here, 'bank-process.mjs'), name, JSON.stringify(this.#config)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.child = child
    let rest = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) this.#note(line)
    })
  }

  /** Whether the process ended by itself, which it never should. */
  get hasFailed(): boolean {
    return this.child !== null && this.child.exitCode !== null
  }

  #note(line: string): void {
    const [word, id] = line.split(' ')
    if (word === 'begin') this.begun.add(id!)
    if (word === 'done') this.done.add(id!)
  }
}
