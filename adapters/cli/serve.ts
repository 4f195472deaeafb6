/** Runs the command `sheaf serve`. */
import { quote } from '../../src/errors.js'
import type { Databases } from '../http/databases.js'
import type { AuthOptions } from '../http/gate.js'
import type { Served } from '../http/handling.js'
import type { Limits } from '../http/limits.js'
import type { ServeOptions } from '../http/options.js'
import { serve } from '../http/server.js'
import type { Call, Grant, NamedSecret } from './arguments.js'
import { readKeys } from './key-file.js'
import { requestLogger } from './log.js'
import { Misuse } from './misuse.js'
import { openServed } from './served.js'
import { onStop } from './stopping.js'

export async function serveDirectory(command: Call<'serve'>): Promise<void> {
  const options = await serveOptions(command)
  const { served, close } = await openServed(command)
  await serveUntilStopped(served, options, close, url => console.log(`listening on ${url}`))
}

/**
 * Serve until a signal stops the program (stopping.ts), then answer the requests that have begun. A second signal ends
 * the process at once. `close`: closes the served namespace or databases. `announce`: called with the URL of the server.
 */
export async function serveUntilStopped(
  served: Served | Databases,
  options: ServeOptions,
  close: () => Promise<void>,
  announce: (url: string) => void,
): Promise<void> {
  const server = await serve(served, options).catch(async cause => {
    await close()
    throw cause
  })
  const draining = options.drainMs ? `accepting requests for ${options.drainMs} ms more, then ` : ''
  const stopped = new Promise<void>(resolve => {
    onStop(signal => {
      console.error(
        `sheaf: ${signal}: ${draining}answering the requests that have begun; a second signal ends the process at once`,
      )
      resolve()
    })
  })
  announce(server.url)
  await stopped
  await server.close()
  await close()
}

/** The options of the commands that serve. `view` has a part of those of `serve`. */
type ServeCommand = Omit<Call<'serve'>, 'kind'>

export async function serveOptions(command: ServeCommand): Promise<ServeOptions> {
  const { port, host, basePath, allowAnonymous, allowHost, allowOrigin, contextPrefix, prewarm, drain } =
    command
  if (prewarm !== undefined && command.databases === true)
    throw new Misuse('--prewarm cannot be used with --databases')
  if (command.balancer !== undefined && !/^https?:\/\//i.test(command.balancer))
    throw new Misuse(`--balancer must be a URL like http://balancer:8080, got ${quote(command.balancer)}`)
  const auth = await authOptions(command)
  return {
    port,
    host,
    basePath,
    allowAnonymous,
    allowHosts: allowHost,
    allowOrigins: allowOrigin,
    contextPrefixes: contextPrefix?.map(prefix => prefix.toLowerCase()),
    auth,
    prewarm: prewarm?.includes('all') ? 'all' : prewarm,
    drainMs: drain,
    balancer: command.balancer === undefined ? undefined : { url: command.balancer },
    limits: limitsOf(command),
    logger: loggerOf(command, auth),
  }
}

/** Return how callers authenticate, or undefined if the command has no keys, tokens or JWKS URL. */
async function authOptions(command: ServeCommand): Promise<AuthOptions | undefined> {
  const { jwksUrl, jwtIssuer: issuer, jwtAudience: audience, jwtDatabasesClaim: databasesClaim } = command
  const needless = Object.entries({ issuer, audience, 'databases-claim': databasesClaim }).find(
    ([, value]) => value !== undefined,
  )
  if (jwksUrl === undefined && needless !== undefined) {
    throw new Misuse(`--jwt-${needless[0]} needs --jwks-url`)
  }
  if (jwksUrl !== undefined && !URL.canParse(jwksUrl)) {
    throw new Misuse(`--jwks-url must be a URL, got ${quote(jwksUrl)}`)
  }
  const apiKeys = await keysOf('api-keys', command.apiKeys, command.apiKeysFile)
  const tokens = await keysOf('tokens', command.tokens, command.tokensFile)
  if ((apiKeys ?? tokens ?? jwksUrl) === undefined) {
    if (command.grant !== undefined) throw new Misuse('--grant needs --api-keys, --tokens or --jwks-url')
    return undefined
  }
  return {
    apiKeys: apiKeys?.secrets,
    tokens: tokens?.secrets,
    jwt: jwksUrl === undefined ? undefined : { jwksUrl, issuer, audience, databasesClaim },
    grants: joined([...(apiKeys?.grants ?? []), ...(tokens?.grants ?? []), ...(command.grant ?? [])]),
  }
}

/** Secrets by the name of the caller, and the databases that callers may use. */
interface Keys {
  readonly secrets: Readonly<Record<string, string>>
  readonly grants: readonly Grant[]
}

/** Merge grants: return all databases of each name, or undefined if there are no grants. */
function joined(grants: readonly Grant[]): Readonly<Record<string, readonly string[]>> | undefined {
  if (grants.length === 0) return undefined
  const byName = new Map<string, readonly string[]>()
  for (const [name, databases] of grants) byName.set(name, [...(byName.get(name) ?? []), ...databases])
  return Object.fromEntries(byName)
}

/**
 * Return the secrets from the command line and from the file of an option, or undefined if there are none. Throws
 * Misuse for a duplicate name; its messages contain no secrets.
 */
async function keysOf(
  option: string,
  given: readonly NamedSecret[] = [],
  file: string | undefined,
): Promise<Keys | undefined> {
  const inFile = file === undefined ? undefined : await readKeys(option, file)
  const pairs = [...given, ...Object.entries(inFile?.secrets ?? {})]
  if (pairs.length === 0) return undefined
  const names = new Set(pairs.map(([name]) => name))
  if (names.size < pairs.length) {
    const twice = pairs.find(([name], i) => pairs.findIndex(([other]) => other === name) < i)![0]
    throw new Misuse(`--${option} has the name ${quote(twice)} twice`)
  }
  return { secrets: Object.fromEntries(pairs), grants: inFile?.grants ?? [] }
}

/** Return the limits that the command sets. The server has defaults for the others. */
function limitsOf(command: ServeCommand): Partial<Limits> {
  const limits: { readonly [L in keyof Limits]: number | undefined } = {
    bodyBytes: command.maxBody,
    messageBytes: command.maxMessage,
    uploadBytes: command.maxUploads,
    openUploads: command.maxOpenUploads,
    openUploadBytes: command.maxOpenUploadBytes,
    openUploadMs: command.maxOpenUploadAge,
    connections: command.maxConnections,
    inFlight: command.maxInFlight,
    inFlightPerCaller: command.maxInFlightPerCaller,
    openStreams: command.maxStreams,
    requestMs: command.requestTimeout,
    pauseMs: command.pauseTimeout,
  }
  const given = Object.entries(limits).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as Partial<Limits>
}

function loggerOf(
  { log = process.stderr.isTTY ? 'text' : 'json' }: ServeCommand,
  auth: AuthOptions | undefined,
): ServeOptions['logger'] {
  if (log === 'none') return undefined
  const secrets = [auth?.apiKeys, auth?.tokens].flatMap(own => Object.values(own ?? {}))
  return requestLogger({ format: log, write: line => process.stderr.write(line), secrets })
}
