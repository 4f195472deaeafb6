/** Runs the command `sheaf view`. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ErrorCode, quote, SheafError } from '../../src/errors.js'
import { connect, type Namespace } from '../../src/index.js'
import type { Call } from './arguments.js'
import { serveOptions, serveUntilStopped } from './serve.js'

/** Serve a directory of LanceDB or a root for reading, until a signal stops the program. */
export async function viewDirectory(command: Call<'view'>): Promise<void> {
  const options = await serveOptions(command)
  const namespace = await openViewed(command)
  const close = () => namespace.close()
  const [table] = await namespace.tableNames().catch(async cause => {
    await close()
    throw cause
  })
  await serveUntilStopped(namespace, options, close, url => {
    console.log(`listening on ${url}`)
    if (process.stdout.isTTY && table !== undefined) console.log(exampleLine(url, table, options.auth))
  })
}

/** Return a line with a command that reads a table of the server. `auth`: how callers authenticate. */
export function exampleLine(url: string, table: string, auth: object | undefined): string {
  const name = /^[\w.-]+$/.test(table) ? table : `'${table.replaceAll("'", "'\\''")}'`
  const needsKey = auth !== undefined && 'apiKeys' in auth && auth.apiKeys !== undefined
  const credential = auth === undefined ? '' : needsKey ? ' --api-key <key>' : ' --token <token>'
  return `try: npx sheaf head ${url} ${name}${credential}`
}

/** Open a root, or a directory of LanceDB. Throws `NamespaceNotFound` if the directory is neither. */
async function openViewed({
  directory,
  cacheBytes,
  cacheDir,
  cacheDiskBytes,
}: Call<'view'>): Promise<Namespace> {
  const options = {
    create: false,
    readOnly: true,
    ...(cacheBytes !== undefined && { cacheBytes }),
    ...(cacheDir !== undefined && { cacheDir }),
    ...(cacheDiskBytes !== undefined && { cacheDiskBytes }),
  }
  if (/^lance\+/i.test(directory)) return connect(directory, options)
  const root = await connect(directory, options).catch(cause => {
    if (cause?.code !== ErrorCode.NamespaceNotFound) throw cause
    return null
  })
  if (root !== null) return root
  const lance = await connect(lanceAddress(directory), options)
  if ((await lance.tableNames()).length > 0) return lance
  await lance.close()
  throw new SheafError(
    ErrorCode.NamespaceNotFound,
    `${quote(directory)} has no table of LanceDB, and is not a root of Sheaf`,
    { hint: 'sheaf serve creates a root' },
  )
}

/** Return the address at which `connect` reads a directory of LanceDB. */
function lanceAddress(directory: string): string {
  return /^[a-z][a-z0-9]*:\/\//i.test(directory)
    ? `lance+${directory}`
    : `lance+${pathToFileURL(resolve(directory))}`
}
