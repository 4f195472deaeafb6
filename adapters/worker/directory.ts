/**
 * Who has which loaded data, told in the thread that made the workers. Memory goes from worker to worker through here, and is known as
 * long as one of them sees it. Whoever asks first loads; if that fails, or its thread ends, the next one who waits does.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Shareable } from '../../src/table/sharing.js'
import { weigh } from './shared-weight.js'

/** From a worker. */
export type ToDirectory =
  | { readonly kind: 'want'; readonly key: string }
  | { readonly kind: 'loaded'; readonly key: string; readonly memory: Shareable }
  | { readonly kind: 'failed'; readonly key: string }
  /** What it was given once under this key, or loaded, it does not see any more. */
  | { readonly kind: 'gone'; readonly key: string }

/** `memory` absent: it is for this worker to load. */
export interface FromDirectory {
  readonly key: string
  readonly memory?: Shareable
}

interface Known {
  /** Null: `loader` is at it. */
  memory: Shareable | null
  loader: MessagePort
  readonly waiting: MessagePort[]
  /** How often each has been given it and not lost sight of it. */
  readonly seen: Map<MessagePort, number>
}

export class Directory {
  readonly #known = new Map<string, Known>()

  /** Keys that somebody has or loads. */
  get size(): number {
    return this.#known.size
  }

  /** The port by which one more worker asks; it leaves with its thread. */
  join(): MessagePort {
    const { port1: near, port2: far } = new MessageChannel()
    near.on('message', (message: ToDirectory) => this.#hear(near, message))
    near.on('close', () => this.#left(near))
    near.unref()
    return far
  }

  #hear(from: MessagePort, message: ToDirectory): void {
    const { key } = message
    const known = this.#known.get(key)
    if (message.kind === 'want') this.#want(from, key, known)
    else if (known === undefined) return
    else if (message.kind === 'gone') this.#gone(from, key, known)
    else if (known.loader !== from || known.memory !== null) return
    else if (message.kind === 'failed') this.#next(key, known)
    else {
      known.memory = message.memory
      weigh(message.memory)
      known.seen.set(from, 1)
      for (const port of known.waiting.splice(0)) give(port, key, known)
    }
  }

  #want(from: MessagePort, key: string, known: Known | undefined): void {
    if (known === undefined) {
      this.#known.set(key, { memory: null, loader: from, waiting: [], seen: new Map() })
      say(from, { key })
    } else if (known.memory === null) known.waiting.push(from)
    else give(from, key, known)
  }

  #gone(from: MessagePort, key: string, { memory, seen }: Known): void {
    const times = (seen.get(from) ?? 1) - 1
    if (times > 0) seen.set(from, times)
    else seen.delete(from)
    if (memory !== null && seen.size === 0) this.#known.delete(key)
  }

  /** Whoever was to load it does not. */
  #next(key: string, known: Known): void {
    const next = known.waiting.shift()
    if (next === undefined) this.#known.delete(key)
    else {
      known.loader = next
      say(next, { key })
    }
  }

  #left(from: MessagePort): void {
    for (const [key, known] of this.#known) {
      const at = known.waiting.indexOf(from)
      if (at >= 0) known.waiting.splice(at, 1)
      if (known.memory === null) {
        if (known.loader === from) this.#next(key, known)
      } else if (known.seen.delete(from) && known.seen.size === 0) this.#known.delete(key)
    }
  }
}

function give(to: MessagePort, key: string, { memory, seen }: Known): void {
  seen.set(to, (seen.get(to) ?? 0) + 1)
  say(to, { key, memory: memory! })
}

function say(to: MessagePort, message: FromDirectory): void {
  to.postMessage(message)
}
