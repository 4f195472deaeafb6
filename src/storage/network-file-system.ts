/** Recognizes file systems on other machines. */
import { statfsSync } from 'node:fs'

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
 * Return the name of the network file system that contains `path`. Returns null for a local file system, and if the system
 * does not tell. Works on Linux only, because other systems report other types.
 */
export function networkFileSystemOf(path: string): string | null {
  if (process.platform !== 'linux') return null
  try {
    // Some file systems report their type as a negative number of 32 bits.
    return names.get(statfsSync(path).type >>> 0) ?? null
  } catch {
    return null
  }
}
