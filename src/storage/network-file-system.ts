/** Recognizes file systems on other machines. */
import { statfsSync } from 'node:fs'
import { isWindows } from './busy-file.js'

/** Names of network file systems by the type that Linux reports. FUSE is missing: it also serves local disks. */
const names: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x01021997, '9p'],
  [0x786f4256, 'a shared folder of VirtualBox'],
])

/** A path of Windows on another machine: `\\server\share`, also in the long form `\\?\UNC\server\share`. */
const uncPath = /^\\\\(?:[^?.\\]|\?\\UNC\\)/i

/**
 * Return the name of the network file system that contains the absolute path `path`. Returns null for a local file system,
 * and if the system does not tell: macOS reports other types than Linux, and drive letters of Windows name no server.
 */
export function networkFileSystemOf(path: string): string | null {
  if (isWindows() && uncPath.test(path)) return 'a network share'
  if (process.platform !== 'linux') return null
  try {
    // Some file systems report their type as a negative number of 32 bits.
    return names.get(statfsSync(path).type >>> 0) ?? null
  } catch {
    return null
  }
}
