/** What a directory is served as: one namespace, or every directory below it as one. */
import { type ConnectOptions, connect } from '../../src/index.js'
import { type Databases, databases } from '../http/databases.js'
import type { Served } from '../http/handling.js'
import { type Call, Misuse } from './arguments.js'

export interface OpenServed {
  readonly served: Served | Databases
  close(): Promise<void>
}

export async function openServed(command: Call<'serve'>): Promise<OpenServed> {
  const { directory, databases: several = false, createDatabases, defaultDatabase } = command
  if (several) {
    const served = databases(directory, {
      ...(createDatabases !== undefined && { create: createDatabases }),
      ...(defaultDatabase !== undefined && { default: defaultDatabase }),
      connect: connectOptions(command),
    })
    return { served, close: () => served.close() }
  }
  if (createDatabases === true || defaultDatabase !== undefined) {
    const option = createDatabases === true ? '--create-databases' : '--default-database'
    throw new Misuse(`${option} means something only with --databases`)
  }
  const namespace = await connect(directory, connectOptions(command))
  return { served: namespace, close: () => namespace.close() }
}

function connectOptions({ readOnly, cacheBytes, keepVersions }: Call<'serve'>) {
  return {
    ...(readOnly !== undefined && { readOnly }),
    ...(cacheBytes !== undefined && { cacheBytes }),
    ...(keepVersions !== undefined && { upkeep: { keepVersionsMs: keepVersions } }),
  } satisfies ConnectOptions
}
