/** Runs load balancers with the configurations of `examples/deploy/` in front of nodes on this machine. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBalancer } from '../find-server.mjs'
import { freePort, untilItAnswers } from '../server.js'

/** A process of a load balancer. */
interface Part {
  /** The port that answers when the process is ready. */
  readonly port: number
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export interface Kind {
  readonly name: string
  /** The path of the program, or null. */
  readonly program: string | null
  /** The name of the file in `examples/deploy/`. */
  readonly file: string
  /** Return the configuration with the ports of this machine, and the processes to start. */
  readonly place: (
    documented: string,
    ports: Ports,
  ) => { readonly text: string; readonly parts: readonly Part[] }
}

interface Ports {
  readonly folder: string
  readonly file: string
  readonly port: number
  /** A second port, for kinds that need one. */
  readonly other: number
  readonly nodes: readonly number[]
}

export const haproxy: Kind = {
  name: 'HAProxy',
  program: findBalancer('haproxy'),
  file: 'haproxy.cfg',
  place: (documented, { file, port, other, nodes }) => {
    const servers = nodes.map((node, i) => `  server node${i + 1} 127.0.0.1:${node} id ${i + 1}\n`).join('')
    const text = documented
      .replace('bind :2333', `bind 127.0.0.1:${port}`)
      .replaceAll('127.0.0.1:2334', `127.0.0.1:${other}`)
      .replace(/( {2}server node.*\n)+/, servers)
    const args = ['-db', '-f', file]
    return {
      text,
      parts: [
        { port: other, args, env: { SHEAF_LARGE: '1' } },
        { port, args },
      ],
    }
  },
}

const nginx: Kind = {
  name: 'nginx',
  program: findBalancer('nginx'),
  file: 'nginx.conf',
  place: (documented, { folder, file, port, nodes }) => {
    // In this test, a single node fails many requests one after the other.
    const servers = nodes.map(node => `    server 127.0.0.1:${node} max_fails=0;\n`).join('')
    const text = documented
      .replace('listen 2333', `listen 127.0.0.1:${port}`)
      .replace(/( {4}server 10.*\n)+/, servers)
    const directives = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr;`
    return { text, parts: [{ port, args: ['-p', folder, '-c', file, '-g', directives] }] }
  },
}

const envoy: Kind = {
  name: 'Envoy',
  program: findBalancer('envoy'),
  file: 'envoy.yaml',
  place: (documented, { file, port, nodes }) => {
    const text = documented
      .replace('address: 0.0.0.0, port_value: 2333', `address: 127.0.0.1, port_value: ${port}`)
      .replace('10.0.0.1, port_value: 2333', `127.0.0.1, port_value: ${nodes[0]}`)
      .replace('10.0.0.2, port_value: 2333', `127.0.0.1, port_value: ${nodes[1]}`)
    return { text, parts: [{ port, args: ['-c', file, '--concurrency', '2', '--log-level', 'error'] }] }
  },
}

export const kinds = [haproxy, nginx, envoy]

export class Balancer {
  readonly url: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'sheaf-balancer-'))
  readonly #children: ChildProcess[] = []

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`
  }

  /** `nodes`: the ports of two nodes. */
  static async start({ program, file, place }: Kind, nodes: readonly number[]): Promise<Balancer> {
    const [port, other] = [await freePort(), await freePort()]
    const balancer = new Balancer(port)
    const folder = balancer.#folder
    mkdirSync(join(folder, 'logs'))
    const placed = join(folder, file)
    const documented = readFileSync(join('examples/deploy', file), 'utf8')
    const { text, parts } = place(documented, { folder, file: placed, port, other, nodes })
    writeFileSync(placed, text)
    for (const part of parts) await balancer.#run(program!, part)
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

  async #run(program: string, { port, args, env }: Part): Promise<void> {
    const child = spawn(program, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#children.push(child)
    await untilItAnswers(program, child, async () => {
      const reply = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null)
      return reply?.status === 200
    })
  }
}
