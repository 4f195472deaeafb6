/**
 * Opens stores in object storage by the path of a root, for example `s3://bucket/prefix`. Each provider is an entry of
 * the package, for example `sheaf/s3`, which is imported when a path needs it.
 */
import { invalidInput, quote } from '../errors.js'
import type { BlobStore } from '../storage/blob-store.js'

interface Provider {
  /** The entry of the package. */
  readonly entry: string
  /** The function of the entry that opens a store. */
  readonly open: string
  /** The option of `open` with the name of the bucket. */
  readonly bucket: string
}

/** By the scheme of the path. */
const providers: Readonly<Record<string, Provider>> = {
  s3: { entry: 'sheaf/s3', open: 'openS3Store', bucket: 'bucket' },
  az: { entry: 'sheaf/azure', open: 'openAzureStore', bucket: 'container' },
  gs: { entry: 'sheaf/gcs', open: 'openGcsStore', bucket: 'bucket' },
}

const url = /^([a-z][a-z0-9+.-]+):\/\/([^/]*)\/?(.*)$/is

/** Return whether a path is the address of a directory of LanceDB, or of one of its tables. */
export function isLanceAddress(path: string): boolean {
  return /^lance\+[a-z][a-z0-9+.-]*:/i.test(path)
}

/** Return whether the path is a URL of object storage. Throws `InvalidInput` for a URL of any other scheme. */
export function isInObjectStorage(path: string): boolean {
  if (isLanceAddress(path)) {
    throw invalidInput(`${quote(path)} is a directory of LanceDB, not a root of Sheaf`, {
      hint: 'only connect, and the commands query, head, diff, export, inspect, serve and view can open it; sheaf import reads its path',
    })
  }
  const scheme = url.exec(path)?.[1]?.toLowerCase()
  const short = /^(s3|az|gs|memory):/i.exec(path)?.[1]?.toLowerCase()
  if (scheme === undefined && short !== undefined) {
    throw short === 'memory'
      ? invalidInput(`${quote(path)} is not a complete address`, { hint: 'write memory://' })
      : invalidInput(`${quote(path)} is not the path of a bucket`, { hint: `write ${short}://bucket/prefix` })
  }
  if (scheme === undefined) return false
  if (Object.hasOwn(providers, scheme)) return true
  const known = ['memory', ...Object.keys(providers), 'lance+file'].map(each => `${each}://`)
  throw invalidInput(`paths like ${quote(path)} are not supported`, {
    hint: /^https?$/.test(scheme)
      ? 'use connectHttp of sheaf/http for a server'
      : `use a local directory or a path that begins with one of: ${known.join(', ')}`,
  })
}

/**
 * Open the store of a path for which `isInObjectStorage` is true. `storage`: further options of the store. Throws
 * `InvalidInput` if the code or the client of the provider cannot be loaded.
 */
export async function openObjectStorage(path: string, storage: object = {}): Promise<BlobStore> {
  const [, scheme, bucket, prefix] = url.exec(path)!
  const provider = providers[scheme!.toLowerCase()]!
  if (bucket === '') throw invalidInput(`${quote(path)} names no ${provider.bucket}`)
  for (const name of [provider.bucket, 'prefix']) {
    if (Object.hasOwn(storage, name))
      throw invalidInput(`storage must not have ${name}, because the path has it: ${quote(path)}`)
  }
  let entry: Readonly<Record<string, (options: object) => Promise<BlobStore>>>
  try {
    // The specifier is not a literal, so that bundlers do not include the code of all providers in every program.
    entry = await import(/* webpackIgnore: true */ /* @vite-ignore */ provider.entry)
  } catch (cause) {
    throw invalidInput(`cannot load ${quote(provider.entry)}, which opens ${quote(path)}`, {
      hint: `if a bundler packed sheaf into your program, import ${provider.open} from '${provider.entry}', and pass its store as the option store`,
      cause,
    })
  }
  return entry[provider.open]!({ ...storage, [provider.bucket]: bucket, prefix })
}
