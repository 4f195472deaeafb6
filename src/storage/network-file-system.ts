/** Recognizes file systems on other machines, and local ones. */
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

/**
 * Types of local file systems, as Linux reports them: ext2 to ext4, XFS, Btrfs, ZFS, F2FS, bcachefs, tmpfs, ramfs, and
 * the overlays of containers. FUSE is missing, because it also serves other machines.
 */
const localTypes: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010, 0xca451a4e, 0x01021994, 0x858458f6, 0x794c7630,
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

/** Return whether the absolute path `path` is certainly on a local file system. Returns false for every path outside of Linux. */
export function isOnLocalFileSystem(path: string): boolean {
  if (process.platform !== 'linux') return false
  try {
    return localTypes.has(statfsSync(path).type >>> 0)
  } catch {
    return false
  }
}
