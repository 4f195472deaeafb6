/**
 * URLs of logs in PostgreSQL: a connection string, and the place of the log as the parameters `schema`, `table` and `root`.
 * The names of logs in messages are such URLs.
 */
import { invalidInput, nearestName, quote } from '../../src/errors.js'

const places = ['schema', 'table', 'root'] as const
/** Parameters of PostgreSQL whose names are like those of places. */
const ofPostgres: ReadonlySet<string> = new Set(['host', 'port'])

/** Options of `openPostgresLog` that a URL can have. */
interface UrlOptions {
  readonly config: { readonly connectionString: string }
  readonly schema?: string
  readonly table?: string
  readonly root?: string
}

/** Return whether a text begins like the URL of a log in PostgreSQL. */
export function isLogUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text)
}

/**
 * Return the options for the log with a URL. Throws `InvalidInput` for any other text. The message does not contain the
 * text, which may have a password.
 */
export function optionsOfUrl(text: string): UrlOptions {
  if (!isLogUrl(text) || !URL.canParse(text)) {
    throw invalidInput('the URL of a log must be like postgres://user@host:5432/database?root=main')
  }
  const url = new URL(text)
  for (const name of url.searchParams.keys()) {
    const like = ofPostgres.has(name) ? undefined : nearestName(name, places)
    if (like !== undefined && like !== name)
      throw invalidInput(`the URL of the log has the parameter ${quote(name)}`, {
        hint: `did you mean ${like}?`,
      })
    if (url.searchParams.getAll(name).length > 1)
      throw invalidInput(`the URL of the log has the parameter ${quote(name)} twice`)
  }
  const given = places.flatMap(name => {
    const value = url.searchParams.get(name)
    url.searchParams.delete(name)
    return value === null ? [] : [[name, value] as const]
  })
  return { config: { connectionString: url.href }, ...Object.fromEntries(given) }
}

/** Return the URL of a log. `server`: the name of the server and the database. */
export function urlOf(server: string, place: { readonly [name in (typeof places)[number]]: string }): string {
  const parameters = places.map(name => `${name}=${encodeURIComponent(place[name])}`)
  return `${server}${server.includes('?') ? '&' : '?'}${parameters.join('&')}`
}

/** Return the name of the server and the database of a configuration of the package `pg`, without user and password. */
export function serverOf(config: object | undefined): string {
  const { connectionString, host, port, database } = (config ?? {}) as Readonly<Record<string, unknown>>
  if (typeof connectionString === 'string' && URL.canParse(connectionString)) {
    const url = new URL(connectionString)
    if (url.host !== '') return `postgres://${url.host}${url.pathname}`
  }
  const { PGHOST, PGPORT, PGDATABASE } = process.env
  return nameOf(
    String(host ?? PGHOST ?? 'localhost'),
    String(port ?? PGPORT ?? 5432),
    String(database ?? PGDATABASE ?? ''),
  )
}

/** Return the name of a server and a database. */
export function nameOf(host: string, port: number | string, database: string): string {
  // A host that begins with "/" is the folder of a socket.
  if (host.startsWith('/')) return `postgres:///${database}?host=${encodeURIComponent(host)}`
  return `postgres://${host}:${port}/${database}`
}
