/** The worker's side of what engines load together: asks the directory, and says what this thread does not see any more. */
import type { MessagePort } from 'node:worker_threads'
import type { Shareable, Sharing } from '../../src/table/sharing.js'
import type { FromDirectory, ToDirectory } from './directory.js'
import { bufferOf, weigh } from './shared-weight.js'

type Told = (memory: Shareable | undefined) => void

export class PortSharing implements Sharing {
  readonly seats: number
  readonly seat: number
  readonly pins: boolean
  readonly #port: MessagePort
  /** Asked for, not answered. */
  readonly #asked = new Map<string, Told>()
  /** Shared by all here who want the same at once. */
  readonly #coming = new Map<string, Promise<Shareable>>()
  readonly #seen = new FinalizationRegistry<string>(key => this.#say({ kind: 'gone', key }))

  constructor(port: MessagePort, { seat, seats, pins }: Pick<Sharing, 'seat' | 'seats' | 'pins'>) {
    this.#port = port
    this.seat = seat
    this.seats = seats
    this.pins = pins
    port.on('message', ({ key, memory }: FromDirectory) => {
      this.#asked.get(key)!(memory)
    })
    port.unref()
  }

  once<S extends Shareable>(key: string, load: () => Promise<S>): Promise<S> {
    const known = this.#coming.get(key)
    if (known !== undefined) return known as Promise<S>
    const coming = this.#once(key, load).finally(() => this.#coming.delete(key))
    this.#coming.set(key, coming)
    return coming
  }

  async #once<S extends Shareable>(key: string, load: () => Promise<S>): Promise<S> {
    const told = new Promise<Shareable | undefined>(resolve => this.#asked.set(key, resolve))
    this.#say({ kind: 'want', key })
    const given = await told
    this.#asked.delete(key)
    if (given !== undefined) return this.#see(key, given as S)
    try {
      const memory = await load()
      this.#say({ kind: 'loaded', key, memory })
      return this.#see(key, memory)
    } catch (error) {
      this.#say({ kind: 'failed', key })
      throw error
    }
  }

  #see<S extends Shareable>(key: string, memory: S): S {
    this.#seen.register(bufferOf(memory), key)
    weigh(memory)
    return memory
  }

  #say(message: ToDirectory): void {
    this.#port.postMessage(message)
  }
}
