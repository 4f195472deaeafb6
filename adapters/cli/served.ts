/** What a directory is served as: one namespace, or every directory below it as one. */
import { unsupported } from '../../src/errors.js'
import { type ConnectOptions, connect } from '../../src/index.js'
import type { Served } from '../http/handling.js'
import { type Call, Misuse } from './arguments.js'

export interface OpenServed {
  readonly served: Served
  close(): Promise<void>
}

export async function openServed(command: Call<'serve'>): Promise<OpenServed> {
  const { directory, databases: several, createDatabases, defaultDatabase } = command
  if (several === true) throw unsupported('--databases')
  if (createDatabases === true || defaultDatabase !== undefined) {
    const option = createDatabases === true ? '--create-databases' : '--default-database'
    throw new Misuse(`${option} means something only with --databases`)
  }
  const namespace = await connect(directory, connectOptions(command))
  return { served: namespace, close: () => namespace.close() }
}

function connectOptions({ readOnly, cacheBytes, keepVersions }: Call<'serve'>): ConnectOptions {
  return {
    ...(readOnly !== undefined && { readOnly }),
    ...(cacheBytes !== undefined && { cacheBytes }),
    ...(keepVersions !== undefined && { upkeep: { keepVersionsMs: keepVersions } }),
  }
}
