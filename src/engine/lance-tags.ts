/**
 * Reads the tags that a Lance engine keeps in the folder of a table. In a root, the tags of a table are those in the log.
 * The tags in the folder are only shown.
 */
import { tagOf } from '../catalog/lookup.js'
import type { TableHead } from '../catalog/state.js'
import { ErrorCode, quote, SheafError } from '../errors.js'
import { type LanceTag, readLanceTag, refName } from '../lance/refs.js'
import { inParallel } from '../primitives/in-parallel.js'
import { idText } from '../protocol/identifiers.js'
import type { Engine } from '../root/engine.js'
import type { BlobInfo } from '../storage/blob-store.js'

/** Maximum number of files that are read at the same time. */
const readsAtOnce = 16

/** Maximum size in bytes of the file of a tag. */
const tagBytesMax = 64 * 1024

/**
 * Return the tags in the folder of a table, by name. `onDamaged`: called with each tag whose file is damaged, and the error.
 * Without it, throws `InvalidInput` for such a tag.
 */
export async function directoryTags(
  { store }: Pick<Engine, 'store'>,
  location: string,
  signal: AbortSignal | undefined,
  onDamaged: (tag: string, error: unknown) => void = (_, error) => {
    throw error
  },
): Promise<ReadonlyMap<string, LanceTag>> {
  const files: BlobInfo[] = []
  for await (const file of store.list(`${location}/_refs/tags/`, undefined, signal))
    if (refName(file.key) !== null) files.push(file)
  const contents = await inParallel(files, readsAtOnce, async ({ key, size }) =>
    size > tagBytesMax ? new Uint8Array(0) : store.get(key, signal),
  )
  const tags = new Map<string, LanceTag>()
  for (const [i, { key }] of files.entries()) {
    const bytes = contents[i]
    // A Lance engine may delete a tag between the listing and the read.
    if (bytes == null) continue
    const tag = refName(key)!
    try {
      tags.set(tag, readLanceTag(bytes, key))
    } catch (error) {
      onDamaged(tag, error)
    }
  }
  return tags
}

/**
 * Return the version to which a tag of the log refers. Throws TagNotFound. If the folder of the table has a tag with this
 * name, the error says so.
 */
export async function versionOfTag(
  engine: Pick<Engine, 'store'>,
  head: TableHead,
  tag: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  if (head.kind !== 'lance' || head.tags.has(tag)) return tagOf(head, tag)
  const found = (await directoryTags(engine, head.location, signal)).get(tag)
  if (found === undefined) return tagOf(head, tag)
  const { version, branch } = found
  const name = `${quote(tag)} of table ${idText(head.id)}`
  if (branch !== null) {
    throw new SheafError(
      ErrorCode.TagNotFound,
      `the tag ${name} is a tag of LanceDB on the branch ${quote(branch)}, which Sheaf does not read`,
      { hint: 'read the tag with LanceDB, or copy the branch into a table' },
    )
  }
  throw new SheafError(
    ErrorCode.TagNotFound,
    `the tag ${name} is only in the folder of the table, where LanceDB keeps it, and not in the log of the root`,
    { hint: `read version ${version}, or create the tag in the root for this version` },
  )
}
