/** Starts a server in a separate process, which reports its memory and times (`http-server.mjs`). */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'

export interface Told {
  /** Memory in bytes: the maximum since `forget`, and the current value. */
  readonly peak: number
  readonly now: number
  readonly longestGapMs: number
  /** CPU time of all threads since the start of the process. */
  readonly cpuSeconds: number
}

export interface ServerOptions {
  readonly cacheBytes?: number
  /** Number of worker threads. Default 0: all work is done in one thread. */
  readonly workers?: number
  /** The path of the Node that runs the server. Default: the Node of this process. */
  readonly execPath?: string | undefined
}

export class MeasuredServer {
  readonly url: string
  readonly #process: ChildProcess

  private constructor(url: string, child: ChildProcess) {
    this.url = url
    this.#process = child
  }

  static async start(
    kind: 'bare' | 'buffer' | 'sheaf',
    folder: string,
    { cacheBytes = 0, workers = 0, execPath }: ServerOptions = {},
  ): Promise<MeasuredServer> {
    mkdirSync(folder, { recursive: true })
    const parameters = [kind, folder, String(cacheBytes), String(workers)]
    const child = fork(
      resolve('bench/http-server.mjs'),
      parameters,
      execPath === undefined ? {} : { execPath },
    )
    const [{ url }] = await once(child, 'message')
    return new MeasuredServer(url, child)
  }

  async tell(word: 'forget' | 'tell'): Promise<Told> {
    this.#process.send(word)
    const [told] = await once(this.#process, 'message')
    return told
  }

  async close(): Promise<void> {
    this.#process.send('close')
    await once(this.#process, 'exit')
  }
}
