/** Locations as callers write them, and as keys of the store (STORAGE S17). */
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Json } from '../commit/machine.js'
import { invalidInput, quote } from '../errors.js'
import { isKey } from '../storage/key.js'

/** Characters of a location, so that the names of files in it fit. */
const locationMax = 512

/** A location as a URI. */
export function uriOf(location: string): string {
  return /^[a-z0-9+.-]+:\/\//i.test(location) ? location : pathToFileURL(location).href
}

/**
 * The folder of the root at `root` that `location` names: an absolute path, a `file://` URI, or a path relative to the
 * root. Throws code 13 for a place outside the root, for the root itself, and for folders that Sheaf keeps there.
 */
export function folderAt(root: string, location: string): string {
  const path = plainPath(location).replaceAll('\\', '/').replace(/\/+$/, '')
  const base = root.replaceAll('\\', '/').replace(/\/+$/, '')
  const isBelow = path.startsWith(`${base}/`)
  const isAbsolute = path.startsWith('/') || /^[a-z]:\//i.test(path) || /^[a-z0-9+.-]+:\/\//i.test(path)
  if (isAbsolute && !isBelow) {
    throw invalidInput(`location ${quote(location)} is not a folder below the root ${quote(root)}`, {
      hint: 'tables lie below the root; leave location out to have one chosen',
    })
  }
  // The root `memory://` ends in slashes of its own.
  const folder = isBelow ? path.slice(base.length).replace(/^\/+/, '') : path
  if (!isKey(folder) || folder.startsWith('_') || folder.length > locationMax) {
    throw invalidInput(`location ${quote(location)} does not name a folder that can hold a table`, {
      hint: 'use plain names without . and .., not starting with _, 512 characters at most',
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

/** Fields of a reply whose text may be a place in the root, and those whose content is the caller's own. */
const placeFields = new Set(['location', 'manifest_path'])
const foreignFields = new Set(['properties', 'metadata', 'storage_options'])

/** A reply with its places told from the root on, so that it holds wherever the root is moved to. */
export function withoutRoot(reply: Json, root: string): Json {
  return mapPlaces(reply, place => {
    return typeof place === 'string' && place.startsWith(root) ? { $root: place.slice(root.length) } : place
  })
}

/** What `withoutRoot` was given, in the root as it lies now. */
export function withRoot(reply: Json, root: string): Json {
  return mapPlaces(reply, place => {
    const isBelow = typeof place === 'object' && place !== null && '$root' in place
    return isBelow ? `${root}${place.$root}` : place
  })
}

function mapPlaces(value: Json, change: (place: Json) => Json): Json {
  if (Array.isArray(value)) return value.map(item => mapPlaces(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, content]) => {
      if (placeFields.has(name)) return [name, change(content)]
      return [name, foreignFields.has(name) ? content : mapPlaces(content, change)]
    }),
  )
}
