/**
 * Opens the namespace or the databases that `sheaf serve` serves. With `--databases`, each directory below the given
 * one is a database.
 */
import { type ConnectOptions, connect } from '../../src/index.js'
import { type Databases, databases } from '../http/databases.js'
import type { Served } from '../http/handling.js'
import { uploadBytesDefault } from '../upload-memory.js'
import { openWorkers } from '../worker/client.js'
import type { Call } from './arguments.js'
import { logOf } from './commit-log.js'
import { Misuse } from './misuse.js'

interface OpenServed {
  readonly served: Served | Databases
  close(): Promise<void>
}

export async function openServed(command: Call<'serve'>): Promise<OpenServed> {
  const { directory, databases: several = false, createDatabases, defaultDatabase, workers } = command
  if (command.commitLog !== undefined && (several || workers !== undefined)) {
    throw new Misuse(`--commit-log cannot be used with ${several ? '--databases' : '--workers'}`)
  }
  if (several) {
    if (workers !== undefined) throw new Misuse('--workers cannot be used with --databases')
    const served = databases(directory, {
      ...(createDatabases !== undefined && { create: createDatabases }),
      ...(defaultDatabase !== undefined && { default: defaultDatabase }),
      connect: connectOptions(command),
    })
    return { served, close: () => served.close() }
  }
  if (createDatabases === true || defaultDatabase !== undefined) {
    const option = createDatabases === true ? '--create-databases' : '--default-database'
    throw new Misuse(`${option} needs --databases`)
  }
  const options = connectOptions(command)
  const namespace =
    workers === undefined
      ? await connect(directory, { ...options, ...(await logOf(command.commitLog)) })
      : await openWorkers(directory, { ...options, workers }, command.maxUploads ?? uploadBytesDefault)
  return { served: namespace, close: () => namespace.close() }
}

function connectOptions(command: Call<'serve'>) {
  const { readOnly, cacheBytes, cacheDir, cacheDiskBytes, maxStaleness, keepVersions, maintenance } = command
  const isElsewhere = maintenance === 'elsewhere'
  if (isElsewhere && keepVersions !== undefined) {
    throw new Misuse('--keep-versions has no effect with --maintenance elsewhere: pass it to sheaf work')
  }
  return {
    ...(readOnly !== undefined && { readOnly }),
    ...(cacheBytes !== undefined && { cacheBytes }),
    ...(cacheDir !== undefined && { cacheDir }),
    ...(cacheDiskBytes !== undefined && { cacheDiskBytes }),
    ...(maxStaleness !== undefined && { maxStalenessMs: maxStaleness }),
    ...(keepVersions !== undefined && { maintenance: { keepVersionsMs: keepVersions } }),
    ...(isElsewhere && { maintenance: 'elsewhere' as const }),
  } satisfies ConnectOptions
}
