/** Finds and caches manifests of versions of Lance tables, in the form that queries use. */
import { ErrorCode, SheafError, unsupported } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import type { Memory, Partition } from '../primitives/memory.js'
import type { BlobStore } from '../storage/blob-store.js'
import { manifestBytesMax } from './lance-manifests.js'
import type { Layout } from './layout.js'
import { layoutBytes } from './layout-store.js'
import type { ManifestFile } from './version.js'

const importLayout = lazyImport(() => import('./lance-layout.js'))

/** Caches manifests of Lance tables. */
export class LanceLayouts {
  readonly #store: BlobStore
  readonly #cache: Partition<Layout>

  constructor(store: BlobStore, memory: Memory) {
    this.#store = store
    this.#cache = memory.partition('lance-layouts', 'places', layoutBytes)
  }

  /**
   * Return the manifest of a version. `manifest`: the key and the size of the manifest of the Lance table.
   *
   * Throws `TableVersionNotFound` if a Lance engine has deleted the manifest, and `Unsupported` if Sheaf cannot read the
   * version.
   */
  async at(
    { uuid, location }: { readonly uuid: string; readonly location: string },
    version: number,
    { path, size }: Pick<ManifestFile, 'path' | 'size'>,
    signal?: AbortSignal,
  ): Promise<Layout> {
    const { readLanceLayout } = await importLayout()
    // A table that was dropped and created again at the same place has other manifests with the same names.
    const mark = this.#store.peek?.(path)
    const key = mark == null ? `${uuid}/${path}` : `${uuid}/${path}/${mark.ino}/${mark.mtimeMs}/${mark.size}`
    const bytes = mark?.size ?? size ?? 0
    if (bytes > manifestBytesMax) {
      throw unsupported(
        `${path} has ${bytes} bytes; Sheaf reads manifests of at most ${manifestBytesMax} bytes`,
        {
          hint: 'compact the table with optimize() of LanceDB',
        },
      )
    }
    const load = async () => {
      const layout = await readLanceLayout({ uuid, location, store: this.#store }, path, version)
      if (layout !== null) return layout
      throw new SheafError(
        ErrorCode.TableVersionNotFound,
        `the manifest of version ${version} was deleted by a Lance engine: ${path} does not exist`,
        { hint: 'read the newest version' },
      )
    }
    signal?.throwIfAborted()
    return this.#cache.get(key, load)
  }

  /**
   * Return the time when a Lance engine committed a version, in milliseconds since 1970. Returns null if Sheaf cannot
   * read the manifest.
   */
  async committedAt(
    table: { readonly uuid: string; readonly location: string },
    version: number,
    manifest: Pick<ManifestFile, 'path' | 'size'>,
    signal?: AbortSignal,
  ): Promise<number | null> {
    try {
      const layout = await this.at(table, version, manifest, signal)
      return (await importLayout()).committedAt(layout)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof SheafError) return null
      throw error
    }
  }
}
