/** What a server answers about itself, whatever its load. Whether it is alive and ready is told to everybody. */
import type { Operations } from '../../src/protocol/calls.js'
import { type HttpReply, jsonReply } from './reply.js'

/** What there is to tell. */
export interface System {
  /** Null: there are several roots, of which none need be open. */
  readonly operations: Operations | null
  isClosing(): boolean
  metrics(): string
}

type Admit = () => Promise<void>

const replies = new Map<string | null, (system: System, admit: Admit) => Promise<HttpReply>>([
  ['/healthz', async () => jsonReply(200, { status: 'ok' })],
  [
    '/readyz',
    async system => {
      const status = system.isClosing() ? 'closing' : (await answers(system.operations)) ? 'ok' : 'not ready'
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

/** The reply of a system route; null for any other route. `admit` throws for whom the rest is not to be told. */
export function systemReply(route: string | null, system: System, admit: Admit): Promise<HttpReply> | null {
  return replies.get(route)?.(system, admit) ?? null
}

/** Longer than any root takes that works. */
const answerMs = 5_000

/** Whether the namespace says anything about its root. */
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
