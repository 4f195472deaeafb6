/**
 * Records which data the workers have loaded into shared memory. Runs in the thread that started the workers. The first
 * worker that needs some data loads it; the other workers receive the same memory. An entry exists while at least one
 * worker references the memory. If the load fails or the loading thread ends, the next waiting worker loads the data.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Shareable } from '../../src/table/sharing.js'
import { weigh } from './shared-weight.js'

/**
 * A message from a worker. `want`: the worker needs the data. `loaded`: it has loaded the data. `failed`: its load
 * failed.
 */
export type ToDirectory =
  | { readonly kind: 'want'; readonly key: string }
  | { readonly kind: 'loaded'; readonly key: string; readonly memory: Shareable }
  | { readonly kind: 'failed'; readonly key: string }
  /** The worker no longer references the memory that it loaded or received under this key. */
  | { readonly kind: 'gone'; readonly key: string }

/** The answer to `want`. Without `memory`, the worker itself must load the data. */
export interface FromDirectory {
  readonly key: string
  readonly memory?: Shareable
}

interface Known {
  /** The shared memory. Null while `loader` loads the data. */
  memory: Shareable | null
  loader: MessagePort
  readonly waiting: MessagePort[]
  /** For each worker, how many times it received the memory minus how many times it reported `gone`. */
  readonly references: Map<MessagePort, number>
}

export class Directory {
  readonly #known = new Map<string, Known>()

  /** Number of keys whose data is loaded or being loaded. */
  get size(): number {
    return this.#known.size
  }

  /** Add a worker, and return the port for its messages. The port closes when the thread of the worker ends. */
  join(): MessagePort {
    const { port1: near, port2: far } = new MessageChannel()
    near.on('message', (message: ToDirectory) => this.#receive(near, message))
    near.on('close', () => this.#left(near))
    near.unref()
    return far
  }

  #receive(from: MessagePort, message: ToDirectory): void {
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
      known.references.set(from, 1)
      for (const port of known.waiting.splice(0)) give(port, key, known)
    }
  }

  #want(from: MessagePort, key: string, known: Known | undefined): void {
    if (known === undefined) {
      this.#known.set(key, { memory: null, loader: from, waiting: [], references: new Map() })
      post(from, { key })
    } else if (known.memory === null) known.waiting.push(from)
    else give(from, key, known)
  }

  #gone(from: MessagePort, key: string, { memory, references }: Known): void {
    const times = (references.get(from) ?? 1) - 1
    if (times > 0) references.set(from, times)
    else references.delete(from)
    if (memory !== null && references.size === 0) this.#known.delete(key)
  }

  /** Let the next waiting worker load the data, because the last loader has failed or ended. */
  #next(key: string, known: Known): void {
    const next = known.waiting.shift()
    if (next === undefined) this.#known.delete(key)
    else {
      known.loader = next
      post(next, { key })
    }
  }

  #left(from: MessagePort): void {
    for (const [key, known] of this.#known) {
      const at = known.waiting.indexOf(from)
      if (at >= 0) known.waiting.splice(at, 1)
      if (known.memory === null) {
        if (known.loader === from) this.#next(key, known)
      } else if (known.references.delete(from) && known.references.size === 0) this.#known.delete(key)
    }
  }
}

function give(to: MessagePort, key: string, { memory, references }: Known): void {
  references.set(to, (references.get(to) ?? 0) + 1)
  post(to, { key, memory: memory! })
}

function post(to: MessagePort, message: FromDirectory): void {
  to.postMessage(message)
}
