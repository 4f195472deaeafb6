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
const addressOf = (host: number) => `10.77.${run}.${host}`
const namespaceOf = (host: number) => `sheaf${run}-${host}`
const linkOf = (host: number) => `sh${run}n${host}`

function ip(...args: (string | number)[]): void {
  execFileSync('ip', args.map(String), { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Create the network namespace of a host, and join it to the bridge. */
function connectHost(host: number): void {
  const name = namespaceOf(host)
  const link = linkOf(host)
  ip('netns', 'add', name)
  ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  ip('link', 'set', link, 'master', bridge, 'up')
  ip('-n', name, 'addr', 'add', `${addressOf(host)}/24`, 'dev', 'eth0')
  ip('-n', name, 'link', 'set', 'eth0', 'up')
  ip('-n', name, 'link', 'set', 'lo', 'up')
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
  /** The nodes and the other hosts with a network namespace. */
  readonly #hosts = new Set<number>()

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
      for (const node of nodes) {
        mkdirSync(join(cluster.#folder, String(node)))
        cluster.addHost(node)
      }
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

  /**
   * Add a host with a network namespace of its own, which reaches the nodes. Returns its address, and the words before a
   * command that run it there.
   */
  addHost(host: number): { readonly address: string; readonly inNetwork: readonly string[] } {
    this.#hosts.add(host)
    connectHost(host)
    return { address: addressOf(host), inNetwork: ['ip', 'netns', 'exec', namespaceOf(host)] }
  }

  /** Let every packet to and from a node or host be lost. */
  cutOff(host: number): void {
    ip('link', 'set', linkOf(host), 'down')
  }

  /** End a cut. */
  reconnect(host: number): void {
    ip('link', 'set', linkOf(host), 'up')
  }

  /** End all processes, and delete their folders and networks. */
  async stop(): Promise<void> {
    for (const node of nodes) await this.killNode(node)
    for (const host of this.#hosts) spawnSync('ip', ['netns', 'del', namespaceOf(host)], { stdio: 'ignore' })
    spawnSync('ip', ['link', 'del', bridge], { stdio: 'ignore' })
    rmSync(this.#folder, { recursive: true, force: true })
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
