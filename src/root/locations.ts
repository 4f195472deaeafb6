/** Converts locations between the forms that callers write and the keys of the store (STORAGE S17). */
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Json } from '../commit/machine.js'
import { invalidInput, quote } from '../errors.js'
import { isKey } from '../storage/key.js'
import { portabilityProblem } from '../storage/portable-name.js'

/** Maximum characters of a location. The limit keeps the paths of its files valid. */
const locationMax = 512

/** Return a location as a URI. */
export function uriOf(location: string): string {
  return /^[a-z0-9+.-]+:\/\//i.test(location) ? location : pathToFileURL(location).href
}

/**
 * Return the folder of a location, relative to the root at `root`. `location`: an absolute path, a `file://` URI, or a
 * path relative to the root. Throws `InvalidInput` for a location outside the root, for the root itself, and for
 * folders that Sheaf reserves.
 */
export function folderAt(root: string, location: string): string {
  const path = plainPath(location).replaceAll('\\', '/').replace(/\/+$/, '')
  const base = root.replaceAll('\\', '/').replace(/\/+$/, '')
  const isBelow = path.startsWith(`${base}/`)
  const isAbsolute = path.startsWith('/') || /^[a-z]:\//i.test(path) || /^[a-z0-9+.-]+:\/\//i.test(path)
  if (isAbsolute && !isBelow) {
    throw invalidInput(`location ${quote(location)} is not a folder below the root ${quote(root)}`, {
      hint: 'tables must be below the root; if location is left out, Sheaf chooses a folder',
    })
  }
  // Remove slashes at the beginning, because the root `memory://` ends with slashes.
  const folder = isBelow ? path.slice(base.length).replace(/^\/+/, '') : path
  if (!isKey(folder) || folder.startsWith('_') || folder.length > locationMax) {
    throw invalidInput(`location ${quote(location)} is not the name of a folder for a table`, {
      hint: 'use plain names without . and .. that do not begin with _, and at most 512 characters',
    })
  }
  for (const name of folder.split('/')) {
    const problem = portabilityProblem(name)
    if (problem === undefined) continue
    throw invalidInput(`location ${quote(location)} contains the name ${quote(name)}, which ${problem}`, {
      hint: 'choose a name that every platform accepts',
    })
  }
  return folder
}

function plainPath(location: string): string {
  if (!location.toLowerCase().startsWith('file:')) return location
  try {
    return fileURLToPath(location)
  } catch (cause) {
    throw invalidInput(`location ${quote(location)} is not a file URI of this machine`, { cause })
  }
}

/**
 * The fields of a reply that may contain an address in the root (`addressFields`), and the fields whose content belongs
 * to the caller (`foreignFields`).
 */
const addressFields = new Set(['location', 'manifest_path'])
const foreignFields = new Set(['properties', 'metadata', 'storage_options'])

/**
 * Make the addresses in a reply relative to the root, so that a stored reply is still correct after the root is moved.
 */
export function withoutRoot(reply: Json, root: string): Json {
  return mapAddresses(reply, address => {
    return typeof address === 'string' && address.startsWith(root)
      ? { $root: address.slice(root.length) }
      : address
  })
}

/** Make the addresses in a reply absolute, with the current address of the root. The inverse of `withoutRoot`. */
export function withRoot(reply: Json, root: string): Json {
  return mapAddresses(reply, address => {
    const isBelow = typeof address === 'object' && address !== null && '$root' in address
    return isBelow ? `${root}${address.$root}` : address
  })
}

function mapAddresses(value: Json, change: (address: Json) => Json): Json {
  if (Array.isArray(value)) return value.map(item => mapAddresses(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, content]) => {
      if (addressFields.has(name)) return [name, change(content)]
      return [name, foreignFields.has(name) ? content : mapAddresses(content, change)]
    }),
  )
}
