/** Runs HAProxy with the configuration of `examples/deploy/haproxy.cfg` in front of nodes on this machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findHaproxy } from '../find-server.mjs'
import { freePort, untilItAnswers } from '../server.js'

export const haproxy: string | null = findHaproxy()

/** Return the configuration of the documentation, with the ports of this machine. */
function configuration(port: number, largePort: number, nodes: readonly number[]): string {
  const documented = readFileSync('examples/deploy/haproxy.cfg', 'utf8')
  const servers = nodes.map((node, i) => `  server node${i + 1} 127.0.0.1:${node} id ${i + 1}\n`).join('')
  return documented
    .replace('bind :2333', `bind 127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:2334', `127.0.0.1:${largePort}`)
    .replace(/( {2}server node.*\n)+/, servers)
}

export class Balancer {
  readonly url: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'sheaf-balancer-'))
  readonly #children: ChildProcess[] = []

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`
  }

  /** `nodes`: the ports of the nodes. */
  static async start(nodes: readonly number[]): Promise<Balancer> {
    const [port, largePort] = [await freePort(), await freePort()]
    const balancer = new Balancer(port)
    const file = join(balancer.#folder, 'haproxy.cfg')
    writeFileSync(file, configuration(port, largePort, nodes))
    await balancer.#run(file, largePort, { SHEAF_LARGE: '1' })
    await balancer.#run(file, port, {})
    return balancer
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #run(file: string, port: number, env: Readonly<Record<string, string>>): Promise<void> {
    const child = spawn(haproxy!, ['-db', '-f', file], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#children.push(child)
    await untilItAnswers('haproxy', child, async () => {
      const reply = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null)
      return reply?.status === 200
    })
  }
}
