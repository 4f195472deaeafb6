/** Starts, kills and restarts servers of PostgreSQL. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { findPostgres } from './find-server.mjs'
import { freePort, untilItAnswers } from './server.js'

/** The folder with the programs. Null: PostgreSQL is not installed. */
export const postgresFolder: string | null = findPostgres()

/** PostgreSQL refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: Number(idOf('-u')), gid: Number(idOf('-g')) } : undefined

function idOf(flag: string): string {
  return execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })
}

/** A server with a port and a folder that it keeps over restarts. */
export class PostgresServer {
  readonly port: number
  readonly #folder: string
  #child: ChildProcess | null = null

  private constructor(port: number, folder: string) {
    this.port = port
    this.#folder = folder
  }

  static async start(): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort(), emptyFolder())
    server.#run('initdb', ['-D', server.#data, '-U', 'tests', '--auth=trust', '--no-sync'])
    // A log must not depend on this setting.
    writeFileSync(join(server.#data, 'postgresql.auto.conf'), "synchronous_commit = 'off'\n")
    await server.run()
    return server
  }

  /** Start a standby of this server. */
  async startStandby(): Promise<PostgresServer> {
    const standby = new PostgresServer(await freePort(), emptyFolder())
    const source = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'tests']
    standby.#run('pg_basebackup', [...source, '-D', standby.#data, '-R', '-c', 'fast', '--no-sync'])
    await standby.run()
    return standby
  }

  get config() {
    return { host: '127.0.0.1', port: this.port, user: 'tests', database: 'postgres' }
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  /** Start the process, and wait until it answers. */
  async run(): Promise<void> {
    const args = [
      '-D',
      this.#data,
      '-p',
      String(this.port),
      '-k',
      this.#folder,
      '-c',
      'listen_addresses=127.0.0.1',
    ]
    const child = spawn(join(postgresFolder!, 'postgres'), args, {
      ...user,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    await untilItAnswers('PostgreSQL', child, () => this.#answers())
  }

  /** End the process at once, as a crash does: without a last write to the disk. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null) return
    child.kill('SIGQUIT')
    await once(child, 'exit')
  }

  /** End the process, and delete its folder. */
  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #run(program: string, args: readonly string[]): void {
    execFileSync(join(postgresFolder!, program), args, { ...user, cwd: this.#folder, stdio: 'pipe' })
  }

  async #answers(): Promise<boolean> {
    const client = new pg.Client(this.config)
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('SELECT 1')
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => {})
    }
  }
}

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-postgres-'))
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  return folder
}
