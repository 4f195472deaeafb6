/**
 * Runs work with a temporary folder and a list of engines. Afterwards, the engines are closed and the folder is
 * deleted.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Run `work` with a new folder and an empty list. Engines that `work` adds to the list are closed, even if it fails.
 */
export async function inScratch(work) {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
  const engines = []
  try {
    return await work(folder, engines)
  } finally {
    for (const engine of engines) await engine.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Return the size in bytes of a file, or of all files in a folder. For a file, other files whose names begin with its
 * name count too, for example write-ahead logs.
 */
export function bytesAt(path) {
  const all = (folder, recursive) =>
    readdirSync(folder, { recursive, withFileTypes: true }).filter(file => file.isFile())
  const size = files => files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return size(all(path, true))
  const [parent, name] = [join(path, '..'), path.slice(join(path, '..').length + 1)]
  return size(all(parent, false).filter(file => file.name.startsWith(name)))
}
