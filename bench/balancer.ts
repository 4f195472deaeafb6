/** HAProxy in front of nodes on this machine, with the configuration of `examples/deploy/haproxy.cfg`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The path of HAProxy, or undefined. Debian installs it in a folder that is not on the PATH of every user. */
export const haproxy = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  .map(folder => join(folder, 'haproxy'))
  .find(path => existsSync(path))

/** The unit of CPU times in `/proc`, on all usual machines. */
const ticksPerSecond = 100

export class Balancer {
  readonly port: number
  readonly #folder: string
  readonly #process: ChildProcess

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.port = port
    this.#folder = folder
    this.#process = child
  }

  /** `nodes`: the ports of the nodes. Resolves when all of them get requests. */
  static async start(nodes: readonly number[]): Promise<Balancer> {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-balancer-'))
    const port = await freePort()
    const file = join(folder, 'haproxy.cfg')
    const servers = nodes.map((node, i) => `  server node${i + 1} 127.0.0.1:${node} id ${i + 1} check\n`)
    const documented = readFileSync('examples/deploy/haproxy.cfg', 'utf8')
    const changed = documented.replace('bind :2333', `bind 127.0.0.1:${port}`)
    writeFileSync(file, changed.replace(/( {2}server node.*\n)+/, servers.join('')))
    const child = spawn(haproxy!, ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] })
    const balancer = new Balancer(port, folder, child)
    while (!(await balancer.#answers())) {
      if (child.exitCode !== null) throw new Error('haproxy did not start')
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    return balancer
  }

  /** CPU time since the start of the process, milliseconds. Linux only. */
  get cpuMs(): number {
    const afterName = readFileSync(`/proc/${this.#process.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(afterName[11]) + Number(afterName[12])) * (1000 / ticksPerSecond)
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL')
    await once(this.#process, 'exit')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #answers(): Promise<boolean> {
    return fetch(`http://127.0.0.1:${this.port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}
