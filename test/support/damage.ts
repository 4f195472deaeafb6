/** Files of a root on the disk: kept, damaged, put back. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every file of a root by its key, in order, and its bytes. */
export function filesOf(root: string): Map<string, Buffer> {
  const files: [string, Buffer][] = []
  for (const name of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!name.isFile()) continue
    const path = join(name.parentPath, name.name)
    files.push([path.slice(root.length + 1), readFileSync(path)])
  }
  return new Map(files.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Damages files (null: they are missing), looks, and puts back those that are in `sound`. */
export async function damaged<T>(
  root: string,
  sound: ReadonlyMap<string, Buffer>,
  keys: Readonly<Record<string, Uint8Array | null>>,
  look: () => Promise<T>,
): Promise<T> {
  const put = (key: string, bytes: Uint8Array | null) => {
    if (bytes === null) rmSync(join(root, key), { force: true })
    else writeFileSync(join(root, key), bytes)
  }
  for (const [key, bytes] of Object.entries(keys)) put(key, bytes)
  try {
    return await look()
  } finally {
    for (const key of Object.keys(keys)) put(key, sound.get(key) ?? null)
  }
}

export function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at]! ^= 0x40
  return copy
}
