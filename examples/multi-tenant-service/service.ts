/** An HTTP service in which each tenant has a namespace and a key, and sees nothing of the others. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type Namespace, type RowOf, schema } from 'sheaf'
import { type Authorize, handler } from 'sheaf/http'

const taskSchema = schema({ id: 'string!', title: 'string!', due: 'timestamp', done: 'bool!' })

export type Task = RowOf<typeof taskSchema>

export interface Service {
  readonly url: string
  /** Answer the requests that have begun, and accept no more. */
  close(): Promise<void>
}

/** Allow a tenant to use the tables of its own namespace. `id` has the names of the namespace and of the table. */
const authorize: Authorize = (operation, id, _identity, { principal }) => {
  const isOwn = principal !== undefined && id[0] === principal.name
  return isOwn && (id.length === 2 || operation === 'listTables')
}

/** Start the service on a port of this machine. `keys` has a secret key for each tenant. Port 0: any free port. */
export async function startService(
  ns: Namespace,
  keys: Readonly<Record<string, string>>,
  port: number,
): Promise<Service> {
  for (const tenant of Object.keys(keys)) {
    await ns.createTable([tenant, 'tasks'], [], { schema: taskSchema, mode: 'exist_ok', createParents: true })
  }
  const database = await handler(ns, { basePath: '/db', auth: { apiKeys: keys }, authorize })
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/db/')) return database.node(request, response)
    if (request.url === '/health') return response.end('ok')
    return response.writeHead(404).end()
  })
  return {
    url: await listen(server, port),
    async close() {
      server.close()
      await database.close()
    },
  }
}

/** Count the open tasks of each tenant, for the owner of the service. Needs no request: the data is in this process. */
export async function countOpenTasks(ns: Namespace): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const tenant of await ns.namespaceNames()) {
    counts.set(tenant, await ns.table<Task>([tenant, 'tasks']).countRows('NOT done'))
  }
  return counts
}

async function listen(server: Server, port: number): Promise<string> {
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return `http://127.0.0.1:${address.port}`
}
