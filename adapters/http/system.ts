/** What a server answers about itself, whatever its load: nobody is asked who they are, and nothing said here names anything. */
import type { Operations } from '../../src/protocol/calls.js'
import { type HttpReply, jsonReply } from './reply.js'

/** What there is to tell. */
export interface System {
  readonly operations: Operations
  isClosing(): boolean
  metrics(): string
}

/** The reply of a system route; null for any other route. */
export async function systemReply(route: string | null, system: System): Promise<HttpReply | null> {
  switch (route) {
    case '/healthz':
      return jsonReply(200, { status: 'ok' })
    case '/readyz': {
      const status = system.isClosing() ? 'closing' : (await answers(system.operations)) ? 'ok' : 'not ready'
      return jsonReply(status === 'ok' ? 200 : 503, { status })
    }
    case '/metrics':
      return {
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        chunks: [Buffer.from(system.metrics())],
      }
    default:
      return null
  }
}

/** Longer than any root takes that works. */
const answerMs = 5_000

/** Whether the namespace says anything about its root. */
async function answers(operations: Operations): Promise<boolean> {
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
