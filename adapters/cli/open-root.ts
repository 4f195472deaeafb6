/** Opens the root or the server that a command names. */
import { connect, type Namespace, type Table } from '../../src/index.js'
import { connectHttp } from '../http/public.js'
import { logOf } from './commit-log.js'
import { Misuse } from './misuse.js'

/** The operand and the options that name a root or a server. */
interface Connection {
  readonly directory: string
  readonly commitLog?: string
  readonly apiKey?: string
  readonly token?: string
  readonly database?: string
}

/** How often a call to a server is sent again after a lost connection. */
const retries = 5

/**
 * Open a local root, a root in object storage, or a server. `writes`: whether the command writes; it then creates a
 * missing root. Throws `Misuse` for options that do not fit the kind of the root.
 */
export async function openRoot(
  { directory, commitLog, apiKey, token, database }: Connection,
  { writes = false, signal }: { readonly writes?: boolean; readonly signal: AbortSignal },
): Promise<Namespace> {
  const isServer = /^https?:\/\//i.test(directory)
  if (!isServer) {
    const [stray] = Object.entries({ 'api-key': apiKey, token, database }).find(([, value]) => value) ?? []
    if (stray !== undefined) throw new Misuse(`--${stray} needs the URL of a server, got ${directory}`)
    const mode = writes ? {} : { create: false, readOnly: true }
    return connect(directory, { ...mode, ...(await logOf(commitLog)), signal })
  }
  if (commitLog !== undefined) throw new Misuse('--commit-log does not fit the URL of a server')
  if (apiKey !== undefined && token !== undefined)
    throw new Misuse('--api-key and --token exclude each other')
  return connectHttp(directory, {
    headers: {
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(database !== undefined && { 'x-lancedb-database': database }),
    },
    retries,
  })
}

/** Open a table at the version that the options name. Default: the newest version. */
export async function openVersion(
  root: Namespace,
  { table: name, version, tag }: { readonly table: string; readonly version?: number; readonly tag?: string },
  signal: AbortSignal,
): Promise<Table> {
  if (version !== undefined && tag !== undefined) throw new Misuse('--version and --tag exclude each other')
  const table = await root.openTable(name, { signal })
  const at = version ?? tag
  return at === undefined ? table : table.checkout(at, { signal })
}
