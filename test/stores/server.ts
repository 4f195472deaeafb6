/** Starts, kills and restarts servers of object storage. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

/** How to run a server. */
export interface Program {
  readonly command: string
  readonly args: (port: number, folder: string) => readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Start what the server needs, before its first start. Returns a function that stops it. */
  readonly prepare?: (port: number, folder: string) => Promise<() => Promise<void>>
}

/** A server in a process of its own, with a port and a folder that it keeps over restarts. */
export class Server {
  readonly port: number
  readonly #folder: string
  readonly #program: Program
  #child: ChildProcess | null = null
  #stopPrepared = async () => {}

  private constructor(program: Program, port: number, folder: string) {
    this.#program = program
    this.port = port
    this.#folder = folder
  }

  static async start(program: Program): Promise<Server> {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-server-'))
    const server = new Server(program, await freePort(), folder)
    try {
      const stop = await program.prepare?.(server.port, folder)
      if (stop !== undefined) server.#stopPrepared = stop
      await server.run()
    } catch (error) {
      await server.stop()
      throw error
    }
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Start the process, and wait until it answers requests. */
  async run(): Promise<void> {
    const { command, args, env } = this.#program
    const child = spawn(command, args(this.port, this.#folder), {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    await untilItAnswers(command, child, () => this.#answers())
  }

  /** End the process at once, as a crash does. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** End the process, and delete its folder. */
  async stop(): Promise<void> {
    await this.kill()
    await this.#stopPrepared()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #answers(): Promise<boolean> {
    try {
      const { status } = await fetch(this.url)
      return status < 500
    } catch {
      return false
    }
  }
}

/** Wait until a server answers. Throws with its last output if it ends first, or does not answer within a minute. */
export async function untilItAnswers(
  name: string,
  child: ChildProcessByStdio<null, null, Readable>,
  answers: () => Promise<boolean>,
): Promise<void> {
  let output = ''
  child.stderr.on('data', data => {
    output = (output + data).slice(-2000)
  })
  for (const end = Date.now() + 60_000; !(await answers()); ) {
    if (child.exitCode !== null || Date.now() > end) throw new Error(`${name} did not start: ${output}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}
