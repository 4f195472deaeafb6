/**
 * Names of manifest files below `_versions/` (Lance table format, "Manifest Naming Schemes").
 *
 * - V1: `<version>.manifest`.
 * - V2: `<2^64 - 1 - version, 20 digits>.manifest`, so that a listing in byte order begins with the newest version.
 * - A name with 20 digits before the first dot is a V2 name. A name with fewer digits is a V1 name.
 * - A staging file has the final name, followed by `-<uuid>`.
 */
import { invalidInput, quote } from '../errors.js'
import { enumeration, type Infer } from './shape.js'

export const namingScheme = enumeration(['V1', 'V2'])
export type NamingScheme = Infer<typeof namingScheme>

const maxVersion = 2n ** 64n - 1n

/** The first version that cannot have a V1 name, because a name with 20 digits is a V2 name. */
const firstV2OnlyVersion = 10n ** 19n

/**
 * Return the file name of a version. Throws InvalidInput unless the version is from 0 to 2^64 - 1 (V1: below 10^19).
 */
export function manifestName(version: number | bigint, scheme: NamingScheme): string {
  const v = BigInt(version)
  const last = scheme === 'V1' ? firstV2OnlyVersion - 1n : maxVersion
  if (v < 0n || v > last) {
    throw invalidInput(`version must be from 0 to ${last} in naming scheme ${scheme}, got ${v}`)
  }
  return scheme === 'V1' ? `${v}.manifest` : `${String(maxVersion - v).padStart(20, '0')}.manifest`
}

export interface ManifestName {
  readonly version: bigint
  readonly scheme: NamingScheme
  /** UUID at the end of the name of a staging file. Null: the file is not a staging file. */
  readonly staging: string | null
}

const pattern =
  /^(\d{20}|0|[1-9]\d{0,18})\.manifest(?:-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}))?$/i

/** Parse the last segment of a path as the name of a manifest. Returns null for other names. */
export function parseManifestName(path: string): ManifestName | null {
  const match = pattern.exec(path.slice(path.lastIndexOf('/') + 1))
  if (match === null) return null
  const digits = match[1]!
  const staging = match[2] ?? null
  if (digits.length < 20) return { version: BigInt(digits), scheme: 'V1', staging }
  const inverted = BigInt(digits)
  return inverted > maxVersion ? null : { version: maxVersion - inverted, scheme: 'V2', staging }
}

/**
 * Return the naming scheme of the manifests among file names; null if no name is the name of a manifest. Throws
 * InvalidInput if the names have both schemes.
 */
export function detectNamingScheme(names: Iterable<string>): NamingScheme | null {
  let found: { name: string; scheme: NamingScheme } | null = null
  for (const name of names) {
    const manifest = parseManifestName(name)
    if (manifest === null || manifest.staging !== null) continue
    found ??= { name, scheme: manifest.scheme }
    if (found.scheme !== manifest.scheme) {
      throw invalidInput(
        `manifests of both naming schemes in one directory: ${quote(found.name)} and ${quote(name)}`,
      )
    }
  }
  return found?.scheme ?? null
}

/** Return an error message if a manifest path does not have the given naming scheme, otherwise undefined. */
export function schemeContradiction(path: string, scheme: NamingScheme | undefined): string | undefined {
  const manifest = parseManifestName(path)
  if (manifest === null || scheme === undefined || manifest.scheme === scheme) return undefined
  return `has naming_scheme ${scheme}, but manifest_path ${quote(path)} is a ${manifest.scheme} name`
}
