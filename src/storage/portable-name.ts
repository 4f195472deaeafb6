/**
 * Names of folders that callers choose. Sheaf accepts the same names on every platform, so that a folder can be moved to
 * another one.
 */

/**
 * Names of devices on Windows, also with an extension: `con.txt` is the console. Windows ignores spaces between the name
 * and the extension.
 */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)/i

/** Characters that Windows forbids in names: some signs, and control characters. `:` begins the name of an NTFS stream. */
const forbidden = /[<>:"/\\|?*]|[^ -~\xa0-\uffff]/

/**
 * Return why a folder with this name cannot exist on each platform, or has another name there. Returns undefined for a
 * portable name.
 */
export function portabilityProblem(name: string): string | undefined {
  const [character] = forbidden.exec(name) ?? []
  if (character !== undefined) return `contains ${JSON.stringify(character)}`
  if (name.endsWith('.') || name.endsWith(' ')) return 'ends in a dot or a space'
  if (device.test(name)) return 'is the name of a device on Windows'
  return undefined
}
