/** Reads a file of secrets. The file has one secret per line, or is JSON, which may also grant databases. */
import { readFile } from 'node:fs/promises'
import { quote } from '../../src/errors.js'
import { type Grant, secrets } from './arguments.js'
import { Misuse } from './misuse.js'

interface KeyFile {
  readonly secrets: Readonly<Record<string, string>>
  readonly grants: readonly Grant[]
}

/** Read the file of `--<option>-file`. Throws Misuse for an invalid file; its messages contain no secrets. */
export async function readKeys(option: string, file: string): Promise<KeyFile> {
  const place = `--${option}-file`
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Misuse(`${place} cannot be read: ${cause.code ?? cause.message}: ${quote(file)}`)
  })
  const keys = text.trimStart().startsWith('{')
    ? keysOfJson(place, file, text)
    : keysOfLines(place, file, text)
  // Refuse a file without secrets. Otherwise the server might admit every caller.
  if (Object.keys(keys.secrets).length === 0) throw new Misuse(`${place} has no secrets: ${quote(file)}`)
  return keys
}

/** Read one `name=secret` per line. Empty lines and lines that begin with `#` are skipped. */
function keysOfLines(place: string, file: string, text: string): KeyFile {
  const found = new Map<string, string>()
  for (const [i, whole] of text.split(/\r?\n/).entries()) {
    const line = whole.trim()
    if (line === '' || line.startsWith('#')) continue
    const pair = secrets([line])?.[0]
    if (pair === undefined) {
      throw new Misuse(`${place}: line ${i + 1} of ${quote(file)} must be name=secret`)
    }
    const [name, secret] = pair
    if (found.has(name)) throw new Misuse(`${place} has the name ${quote(name)} twice`)
    found.set(name, secret)
  }
  return { secrets: Object.fromEntries(found), grants: [] }
}

/** Read `{ "name": "secret" }` or `{ "name": { "secret": "...", "databases": ["..."] } }`. */
function keysOfJson(place: string, file: string, text: string): KeyFile {
  const entries = Object.entries(parsed(place, file, text))
  const found = entries.map(([name, entry]) => {
    const { secret, databases, ...others } = (
      typeof entry === 'string' ? { secret: entry } : (entry ?? {})
    ) as Entry
    const isRight =
      typeof secret === 'string' && secret !== '' && (databases === undefined || isTexts(databases))
    if (isRight && Object.keys(others).length === 0) return { name, secret, databases }
    throw new Misuse(
      `${place}: ${quote(name)} in ${quote(file)} must be a secret (a text), or an object with a "secret" (a text) and "databases" (a list of texts)`,
    )
  })
  return {
    secrets: Object.fromEntries(found.map(({ name, secret }) => [name, secret])),
    grants: found.flatMap(({ name, databases }) =>
      databases === undefined ? [] : [[name, databases] as const],
    ),
  }
}

interface Entry {
  readonly secret?: unknown
  readonly databases?: unknown
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}

function parsed(place: string, file: string, text: string): object {
  try {
    return JSON.parse(text) as object
  } catch {
    // Do not show the message of the parser, because it may contain a part of a secret.
    throw new Misuse(`${place} is not valid JSON: ${quote(file)}`)
  }
}
