/** Concurrent callers of several nodes over HTTP. They repeat each write with its idempotency key until it is acknowledged. */
import { setTimeout as pause } from 'node:timers/promises'
import { connectHttp } from '../../../adapters/http/client.js'
import type { Namespace } from '../../../src/index.js'

export const eventTables = ['events_0', 'events_1', 'events_2', 'events_3']

/** Return whether a call may be repeated with its idempotency key after this error. */
export function isTransient(error: unknown): boolean {
  const { name, kind } = error as { name?: string; kind?: string }
  return name === 'ServiceUnavailable' || name === 'Throttling' || kind === 'commit-state-unknown'
}

export class Callers {
  /** Acknowledged keys by table. */
  readonly acknowledged = new Map<string, string[]>(eventTables.map(table => [table, []]))
  /** Number of acknowledged moves of tags. */
  tagMoves = 0
  /** Number of calls that failed and were repeated. */
  repeated = 0
  readonly #nodes: readonly Namespace[]

  constructor(urls: readonly string[]) {
    this.#nodes = urls.map(url => connectHttp(url, { timeoutMs: 20_000 }))
  }

  get count(): number {
    let appends = 0
    for (const keys of this.acknowledged.values()) appends += keys.length
    return appends + this.tagMoves
  }

  /** Append rows and move tags until `operations` calls are acknowledged. */
  async run(operations: number, callers: number): Promise<void> {
    let begun = 0
    const call = async (caller: number) => {
      const table = eventTables[caller % eventTables.length]!
      for (let n = 0; begun++ < operations; n++) {
        if (n % 8 === 7) await this.#moveTag(caller, table)
        else await this.#append(`${caller}-${n}`, caller, table)
      }
    }
    await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
  }

  async close(): Promise<void> {
    for (const node of this.#nodes) await node.close()
  }

  async #append(key: string, caller: number, name: string): Promise<void> {
    await this.#untilDone(caller, async ns => {
      const table = await ns.openTable(name)
      await table.add([{ key }], { idempotencyKey: `${name}/${key}` })
    })
    this.acknowledged.get(name)!.push(key)
  }

  async #moveTag(caller: number, name: string): Promise<void> {
    await this.#untilDone(caller, async ns => {
      const table = await ns.openTable(name)
      await table.tags.update(`caller-${caller}`, await table.version())
    })
    this.tagMoves++
  }

  /** Ask one node after the other until one of them answers. */
  async #untilDone(caller: number, call: (ns: Namespace) => Promise<void>): Promise<void> {
    for (let attempt = caller; ; attempt++) {
      try {
        return await call(this.#nodes[attempt % this.#nodes.length]!)
      } catch (error) {
        if (!isTransient(error)) throw error
        this.repeated++
        await pause(100 * Math.random())
      }
    }
  }
}
