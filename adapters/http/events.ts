/** Waiting for things that happen to sockets. */
import type { EventEmitter } from 'node:events'

/** Resolves at the first of these events; errors among them are events like any other. Leaves no listener behind. */
export function first(...events: readonly (readonly [EventEmitter, string])[]): Promise<void> {
  return new Promise(resolve => {
    const happened = () => {
      for (const [emitter, event] of events) emitter.off(event, happened)
      resolve()
    }
    for (const [emitter, event] of events) emitter.on(event, happened)
  })
}
