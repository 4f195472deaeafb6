/**
 * Compares names with the entries of directories. Some disks ignore case (APFS, NTFS) or the Unicode form (APFS) of
 * names, and NTFS gives long names a short alias. There, several names open one directory.
 */
import { lstatSync, opendirSync } from 'node:fs'
import { join } from 'node:path'
import { Pacer } from '../primitives/pacer.js'
import { ioError, systemCode } from './io-error.js'

/** Number of directory entries that one call of the system returns. */
const listedAtOnce = 1024

/**
 * Return whether each name of `path` equals an entry of its directory, byte by byte. `path`: names joined by '/', from the
 * directory `root` on. Names that do not exist, and names below them, are exact.
 */
export async function hasExactPath(root: string, path: string): Promise<boolean> {
  let directory = root
  for (const name of path.split('/')) {
    const inside = join(directory, name)
    try {
      if (!exists(inside)) return true
      if (isAmbiguous(directory, name) && !(await hasEntry(directory, name))) return false
    } catch (error) {
      throw ioError(error, 'list', directory)
    }
    directory = inside
  }
  return true
}

/**
 * Return whether the entry of an existing name may have another spelling. An ASCII name without `~` can differ from its
 * entry in case only, and then the disk also finds the name in the opposite case. This check saves the listing of a large
 * directory on disks that distinguish case.
 */
function isAmbiguous(directory: string, name: string): boolean {
  if (!/^[\x20-\x7d]*$/.test(name)) return true
  const swapped = name.replace(/[a-z]/gi, letter => {
    const lower = letter.toLowerCase()
    return letter === lower ? letter.toUpperCase() : lower
  })
  return swapped !== name && exists(join(directory, swapped))
}

async function hasEntry(directory: string, name: string): Promise<boolean> {
  const pacer = new Pacer()
  const listing = opendirSync(directory, { bufferSize: listedAtOnce })
  try {
    for (let read = 1; ; read++) {
      const entry = listing.readSync()
      if (entry === null) return false
      if (entry.name === name) return true
      if (read % listedAtOnce === 0) await pacer.turn()
    }
  } finally {
    listing.closeSync()
  }
}

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (systemCode(error) === 'ENOTDIR') return false
    throw error
  }
}
