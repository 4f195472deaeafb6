import { Packs } from '../../src/commit/packs.js'
import type { BlobStore } from '../../src/storage/blob-store.js'

/** The packs of a log whose slots are never read after they were trimmed. */
export class ChainOnly extends Packs {
  readonly #chain: ReadonlyMap<number, number>

  constructor(store: BlobStore, chain: ReadonlyMap<number, number>) {
    super(store)
    this.#chain = chain
  }

  override get covered(): number {
    return this.#chain.size
  }

  override async crcOf(number: number): Promise<number | null> {
    return this.#chain.get(number) ?? null
  }

  override async read(): Promise<null> {
    return null
  }
}
