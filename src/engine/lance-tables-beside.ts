/** Reports tables of LanceDB in a directory that is opened as a root. */
import { pathToFileURL } from 'node:url'
import { ErrorCode, quote, SheafError } from '../errors.js'
import type { BlobStore } from '../storage/blob-store.js'
import { FileStore } from '../storage/file-store.js'
import type { OpenedRoot } from './opened-root.js'

/**
 * Open a root. If its directory has tables of LanceDB, the error for a missing root has the address that reads them, and
 * a root without commits is reported to `warn`.
 */
export async function openBesideLance(
  store: BlobStore,
  location: string,
  warn: (message: string, cause: unknown) => void,
  open: () => Promise<OpenedRoot>,
): Promise<OpenedRoot> {
  if (!(store instanceof FileStore)) return open()
  const address = `lance+${pathToFileURL(location)}`
  try {
    const engine = await open()
    if (engine.root.head > 0) return engine
    const folders = lanceFolders(store)
    if (folders.length > 0) {
      const message = `the new root in ${quote(location)} does not show the tables of LanceDB in the directory: ${folders.join(', ')}`
      warn(message, new Error(`to read these tables, connect to ${quote(address)}`))
    }
    return engine
  } catch (error) {
    if (!(error instanceof SheafError) || error.code !== ErrorCode.NamespaceNotFound) throw error
    if (lanceFolders(store).length === 0) throw error
    const { message, cause } = error
    const hint = `the directory belongs to LanceDB: use the address ${quote(address)}`
    throw new SheafError(ErrorCode.NamespaceNotFound, message, { hint, cause })
  }
}

/** Return the folders of tables. The directory itself may be the folder of a table: then its folder of manifests. */
function lanceFolders(store: FileStore): readonly string[] {
  return store.folders().filter(name => /.\.lance$/.test(name) || name === '_versions')
}
