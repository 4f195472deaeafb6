/** A node: `sheaf serve` in a process of its own, on a port that it keeps over restarts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { shipped } from '../../adapters/built.js'
import { freePort, untilItAnswers } from '../server.js'

const program = shipped('cli')

export class NodeProcess {
  readonly port: number
  readonly #root: string
  #child: ChildProcess | null = null

  private constructor(root: string, port: number) {
    this.#root = root
    this.port = port
  }

  static async start(root: string): Promise<NodeProcess> {
    const node = new NodeProcess(root, await freePort())
    await node.run()
    return node
  }

  /** Start the process, and wait until it is ready. */
  async run(): Promise<void> {
    const options = ['--port', String(this.port), '--drain', '2s', '--prewarm', 'all', '--log', 'none']
    const child = spawn(process.execPath, [program, 'serve', this.#root, ...options], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    await untilItAnswers('sheaf serve', child, async () => {
      const reply = await fetch(`http://127.0.0.1:${this.port}/readyz`).catch(() => null)
      return reply?.status === 200
    })
  }

  /** End the process as a crash does. */
  async kill(): Promise<void> {
    const child = this.#child!
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** Ask the process to end, and return its exit code. */
  async terminate(): Promise<number | null> {
    const child = this.#child!
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number | null]
    return code
  }
}
