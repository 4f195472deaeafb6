/** A folder that is gone afterwards, and engines that are closed by then. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `work` is given the folder, and a list: what it adds to it is closed however it ends. */
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

/** Of a file, or of all below a folder. Those that begin as `path` does count too: logs that lie beside their database. */
export function bytesAt(path) {
  const all = (folder, recursive) =>
    readdirSync(folder, { recursive, withFileTypes: true }).filter(file => file.isFile())
  const size = files => files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return size(all(path, true))
  const [parent, name] = [join(path, '..'), path.slice(join(path, '..').length + 1)]
  return size(all(parent, false).filter(file => file.name.startsWith(name)))
}
