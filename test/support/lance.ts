/** What a Lance engine does to a root that is its catalog: it stages manifests, and sometimes goes past the catalog. */
import { randomUUID } from 'node:crypto'
import { manifestName, type NamingScheme } from '../../src/protocol/manifest-name.js'
import type { BlobStore } from '../../src/storage/blob-store.js'

export interface Staged {
  readonly version: number
  /** What a client sends. */
  readonly manifest_path: string
  readonly manifest_size: number
  readonly bytes: Uint8Array
  /** Where it lies. */
  readonly key: string
  /** Where it shall lie. */
  readonly final: string
}

/** Bytes that pass for a Lance file. */
export function manifestOf(text: string): Uint8Array {
  return new TextEncoder().encode(`${text} LANC`)
}

/** Puts a manifest under a staging name. `location`: of the table, as answers have it. */
export async function stage(
  store: BlobStore,
  location: string,
  version: number,
  { bytes = manifestOf(`staged ${randomUUID()}`), scheme = 'V2' as NamingScheme } = {},
): Promise<Staged> {
  const final = finalKey(location, version, scheme)
  const key = `${final}-${randomUUID()}`
  await store.put(key, bytes)
  const folder = location.slice(0, location.length - folderOf(location).length)
  return { version, manifest_path: folder + key, manifest_size: bytes.length, bytes, key, final }
}

/** What a client sends of it. */
export function requestOf<T extends Staged>(staged: T): Omit<T, 'bytes' | 'key' | 'final'> {
  const { bytes: _, key: __, final: ___, ...request } = staged
  return request
}

/** Puts a manifest where only finished ones lie, without asking anybody. */
export async function commitPast(
  store: BlobStore,
  location: string,
  version: number,
  { bytes = manifestOf(`foreign ${version}`), scheme = 'V2' as NamingScheme } = {},
): Promise<Uint8Array> {
  await store.put(finalKey(location, version, scheme), bytes)
  return bytes
}

function finalKey(location: string, version: number, scheme: NamingScheme): string {
  return `${folderOf(location)}/_versions/${manifestName(version, scheme)}`
}

/** The last two names of a location: all test tables lie two folders deep. */
export function folderOf(location: string): string {
  return location.split('/').slice(-2).join('/')
}
