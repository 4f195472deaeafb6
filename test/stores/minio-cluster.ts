/**
 * Starts four nodes of MinIO with erasure coding. Each node is in a network namespace of its own, because MinIO refuses
 * addresses of the loopback interface for several nodes.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const nodes = [1, 2, 3, 4]
const port = 9000
/** Distinguishes the networks of several runs on one machine. */
const run = process.pid % 250
const bridge = `sheaf${run}`
const addressOf = (node: number) => `10.77.${run}.${node}`
const namespaceOf = (node: number) => `sheaf${run}-${node}`

function ip(...args: (string | number)[]): void {
  execFileSync('ip', args.map(String), { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Return whether this process may create network namespaces. */
export function mayCreateNetworks(): boolean {
  const name = `${bridge}-test`
  if (spawnSync('ip', ['netns', 'add', name], { stdio: 'ignore' }).status !== 0) return false
  ip('netns', 'del', name)
  return true
}

/** A running cluster. `url`: the address of the first node. */
export class MinioCluster {
  readonly url = `http://${addressOf(1)}:${port}`
  readonly #command: string
  readonly #env: Readonly<Record<string, string>>
  readonly #folder = mkdtempSync(join(tmpdir(), 'sheaf-cluster-'))
  readonly #children = new Map<number, ChildProcess>()

  private constructor(command: string, env: Readonly<Record<string, string>>) {
    this.#command = command
    this.#env = env
  }

  static async start(command: string, env: Readonly<Record<string, string>>): Promise<MinioCluster> {
    const cluster = new MinioCluster(command, env)
    try {
      ip('link', 'add', bridge, 'type', 'bridge')
      ip('addr', 'add', `10.77.${run}.254/24`, 'dev', bridge)
      ip('link', 'set', bridge, 'up')
      for (const node of nodes) cluster.#connectNode(node)
      for (const node of nodes) cluster.startNode(node)
      await cluster.#untilHealthy()
      return cluster
    } catch (error) {
      await cluster.stop()
      throw error
    }
  }

  /** Start the process of a node. */
  startNode(node: number): void {
    const folders = nodes.map(each => `http://${addressOf(each)}:${port}${this.#folder}/${each}`)
    const server = [this.#command, 'server', '--quiet', '--address', `${addressOf(node)}:${port}`, ...folders]
    const child = spawn('ip', ['netns', 'exec', namespaceOf(node), ...server], {
      // Without this, MinIO refuses folders on the disk of the system.
      env: { ...process.env, ...this.#env, MINIO_CI_CD: '1' },
      stdio: 'ignore',
    })
    this.#children.set(node, child)
  }

  /** End the process of a node at once, as a crash does. */
  async killNode(node: number): Promise<void> {
    const child = this.#children.get(node)
    this.#children.delete(node)
    if (child === undefined || child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** End all processes, and delete their folders and networks. */
  async stop(): Promise<void> {
    for (const node of nodes) {
      await this.killNode(node)
      spawnSync('ip', ['netns', 'del', namespaceOf(node)], { stdio: 'ignore' })
    }
    spawnSync('ip', ['link', 'del', bridge], { stdio: 'ignore' })
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Create the network namespace of a node, and join it to the bridge. */
  #connectNode(node: number): void {
    const name = namespaceOf(node)
    const link = `sh${run}n${node}`
    mkdirSync(join(this.#folder, String(node)))
    ip('netns', 'add', name)
    ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    ip('link', 'set', link, 'master', bridge, 'up')
    ip('-n', name, 'addr', 'add', `${addressOf(node)}/24`, 'dev', 'eth0')
    ip('-n', name, 'link', 'set', 'eth0', 'up')
    ip('-n', name, 'link', 'set', 'lo', 'up')
  }

  async #untilHealthy(): Promise<void> {
    for (const end = Date.now() + 60_000; ; ) {
      const reply = await fetch(`${this.url}/minio/health/cluster`).catch(() => null)
      if (reply?.status === 200) return
      if (Date.now() > end) throw new Error('the cluster of MinIO did not start')
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}
