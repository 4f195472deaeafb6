/** `sheaf serve` */
import { readFile } from 'node:fs/promises'
import { quote } from '../../src/errors.js'
import type { AuthOptions } from '../http/gate.js'
import type { Limits } from '../http/limits.js'
import type { ServeOptions } from '../http/options.js'
import { serve } from '../http/server.js'
import { type Call, Misuse, type NamedSecret, secrets } from './arguments.js'
import { requestLogger } from './log.js'
import { openServed } from './served.js'
import { onStop } from './stopping.js'

/** Serves until SIGTERM or SIGINT; then answers what has begun. A second signal ends the process at once. */
export async function serveDirectory(command: Call<'serve'>): Promise<void> {
  const options = await serveOptions(command)
  const { served, close } = await openServed(command)
  const server = await serve(served, options).catch(async cause => {
    await close()
    throw cause
  })
  const stopped = new Promise<void>(resolve => {
    onStop(signal => {
      console.error(`sheaf: ${signal}: answering what has begun; a second signal ends at once`)
      resolve()
    })
  })
  console.log(`listening on ${server.url}`)
  await stopped
  await server.close()
  await close()
}

async function serveOptions(command: Call<'serve'>): Promise<ServeOptions> {
  const { port, host, basePath, allowAnonymous, allowHost, allowOrigin, contextPrefix } = command
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
    limits: limitsOf(command),
    logger: loggerOf(command, auth),
  }
}

/** Undefined where nobody is asked who they are. */
async function authOptions(command: Call<'serve'>): Promise<AuthOptions | undefined> {
  const { jwksUrl, jwtIssuer: issuer, jwtAudience: audience } = command
  if (jwksUrl === undefined && (issuer ?? audience) !== undefined) {
    throw new Misuse(
      `--jwt-${issuer === undefined ? 'audience' : 'issuer'} means something only with --jwks-url`,
    )
  }
  if (jwksUrl !== undefined && !URL.canParse(jwksUrl)) {
    throw new Misuse(`--jwks-url must be a URL, got ${quote(jwksUrl)}`)
  }
  const apiKeys = await secretsOf('api-keys', command.apiKeys, command.apiKeysFile)
  const tokens = await secretsOf('tokens', command.tokens, command.tokensFile)
  if ((apiKeys ?? tokens ?? jwksUrl) === undefined) return undefined
  return { apiKeys, tokens, jwt: jwksUrl === undefined ? undefined : { jwksUrl, issuer, audience } }
}

/** Secrets by name, those of a file among them. Messages never have one in them. */
async function secretsOf(
  option: string,
  given: readonly NamedSecret[] = [],
  file: string | undefined,
): Promise<Readonly<Record<string, string>> | undefined> {
  const pairs = [...given, ...(file === undefined ? [] : await secretsIn(option, file))]
  if (pairs.length === 0) return undefined
  const names = new Set(pairs.map(([name]) => name))
  if (names.size < pairs.length) {
    const twice = pairs.find(([name], i) => pairs.findIndex(([other]) => other === name) < i)![0]
    throw new Misuse(`--${option} has the name ${quote(twice)} twice`)
  }
  return Object.fromEntries(pairs)
}

/** One `name=secret` a line; empty lines and those that begin with `#` are passed over. */
async function secretsIn(option: string, file: string): Promise<readonly NamedSecret[]> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Misuse(`--${option}-file cannot be read: ${cause.code ?? cause.message}: ${quote(file)}`)
  })
  const lines = text.split(/\r?\n/).map((line, i) => ({ line: line.trim(), at: i + 1 }))
  const pairs = lines
    .filter(({ line }) => line !== '' && !line.startsWith('#'))
    .map(({ line, at }) => {
      const pair = secrets([line])?.[0]
      if (pair !== undefined) return pair
      throw new Misuse(
        `--${option}-file must have name=secret in each line, not so line ${at} of ${quote(file)}`,
      )
    })
  // Nobody who names a file of keys means to let everybody in.
  if (pairs.length === 0) throw new Misuse(`--${option}-file has nothing in it: ${quote(file)}`)
  return pairs
}

/** Those that were given; the others have defaults of their own. */
function limitsOf(command: Call<'serve'>): Partial<Limits> {
  const limits: { readonly [L in keyof Limits]: number | undefined } = {
    bodyBytes: command.maxBody,
    messageBytes: command.maxMessage,
    connections: command.maxConnections,
    inFlight: command.maxInFlight,
    inFlightPerCaller: command.maxInFlightPerCaller,
    requestMs: command.requestTimeout,
    pauseMs: command.pauseTimeout,
  }
  const given = Object.entries(limits).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as Partial<Limits>
}

function loggerOf(
  { log = process.stderr.isTTY ? 'text' : 'json' }: Call<'serve'>,
  auth: AuthOptions | undefined,
): ServeOptions['logger'] {
  if (log === 'none') return undefined
  const secrets = [auth?.apiKeys, auth?.tokens].flatMap(own => Object.values(own ?? {}))
  return requestLogger({ format: log, write: line => process.stderr.write(line), secrets })
}
