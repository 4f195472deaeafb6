/** Replies about the server itself. The limits on calls do not apply. `/healthz` and `/readyz` need no credentials. */
import type { Operations } from '../../src/protocol/calls.js'
import { type HttpReply, jsonReply } from './reply.js'

/** The parts of the server that these replies describe. */
export interface System {
  /** The operations of the namespace. Null for a server of databases, which may have no open database. */
  readonly operations: Operations | null
  /** Whether the server is closing, or will close after its drain time. */
  isClosing(): boolean
  /** Whether tables are being loaded into the cache (`prewarm`). */
  isWarming(): boolean
  metrics(): string
}

type Admit = () => Promise<void>

const replies = new Map<string | null, (system: System, admit: Admit) => Promise<HttpReply>>([
  ['/healthz', async () => jsonReply(200, { status: 'ok' })],
  [
    '/readyz',
    async system => {
      const status = await statusOf(system)
      return jsonReply(status === 'ok' ? 200 : 503, { status })
    },
  ],
  [
    '/metrics',
    async (system, admit) => {
      await admit()
      const headers = ['content-type', 'text/plain; version=0.0.4; charset=utf-8']
      return { status: 200, headers, body: system.metrics() }
    },
  ],
])

/**
 * Return the reply of a system route, or null for any other route. `admit`: throws if the caller may not read
 * `/metrics`.
 */
export function systemReply(route: string | null, system: System, admit: Admit): Promise<HttpReply> | null {
  return replies.get(route)?.(system, admit) ?? null
}

async function statusOf(system: System): Promise<'ok' | 'closing' | 'warming' | 'not ready'> {
  if (system.isClosing()) return 'closing'
  if (system.isWarming()) return 'warming'
  const isReady = await answers(system.operations)
  // The server may have begun to close meanwhile.
  return system.isClosing() ? 'closing' : isReady ? 'ok' : 'not ready'
}

/** Time limit for the check of `/readyz`, milliseconds. A healthy root answers much faster. */
const answerMs = 5_000

/** Return whether the namespace answers a call within the time limit. */
async function answers(operations: Operations | null): Promise<boolean> {
  if (operations === null) return true
  const patience = new AbortController()
  const timer = setTimeout(() => patience.abort(), answerMs)
  try {
    await Promise.race([
      operations.namespaceExists({ id: [] }, { signal: patience.signal }),
      new Promise((_, reject) => patience.signal.addEventListener('abort', reject)),
    ])
    return true
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}
