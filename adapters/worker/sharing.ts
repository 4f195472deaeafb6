/**
 * Lets the engine of a worker share loaded data with other workers. Asks the directory for data, and tells it when this
 * thread no longer references some data.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Shareable, Sharing } from '../../src/table/sharing.js'
import type { FromDirectory, ToDirectory } from './directory.js'
import { bufferOf, weigh } from './shared-weight.js'

type Answer = (memory: Shareable | undefined) => void

export class PortSharing implements Sharing {
  readonly workerCount: number
  readonly workerIndex: number
  readonly pins: boolean
  readonly #port: MessagePort
  /** Requests to the directory that have no answer yet, by key. */
  readonly #asked = new Map<string, Answer>()
  /** Requests in progress, by key. Callers in this thread that need the same data share one request. */
  readonly #loading = new Map<string, Promise<Shareable>>()
  readonly #referenced = new FinalizationRegistry<string>(key => this.#post({ kind: 'gone', key }))

  constructor(
    port: MessagePort,
    { workerIndex, workerCount, pins }: Pick<Sharing, 'workerIndex' | 'workerCount' | 'pins'>,
  ) {
    this.#port = port
    this.workerIndex = workerIndex
    this.workerCount = workerCount
    this.pins = pins
    port.on('message', ({ key, memory }: FromDirectory) => {
      this.#asked.get(key)!(memory)
    })
    port.unref()
  }

  once<S extends Shareable>(key: string, load: () => Promise<S>): Promise<S> {
    const known = this.#loading.get(key)
    if (known !== undefined) return known as Promise<S>
    const loading = this.#once(key, load).finally(() => this.#loading.delete(key))
    this.#loading.set(key, loading)
    return loading
  }

  async #once<S extends Shareable>(key: string, load: () => Promise<S>): Promise<S> {
    const answered = new Promise<Shareable | undefined>(resolve => this.#asked.set(key, resolve))
    this.#post({ kind: 'want', key })
    const given = await answered
    this.#asked.delete(key)
    if (given !== undefined) return this.#track(key, given as S)
    try {
      const memory = await load()
      this.#post({ kind: 'loaded', key, memory })
      return this.#track(key, memory)
    } catch (error) {
      this.#post({ kind: 'failed', key })
      throw error
    }
  }

  #track<S extends Shareable>(key: string, memory: S): S {
    this.#referenced.register(bufferOf(memory), key)
    weigh(memory)
    return memory
  }

  #post(message: ToDirectory): void {
    this.#port.postMessage(message)
  }
}
