/** Opens the commit log that the option --commit-log names. */
import type { ConnectOptions } from '../../src/index.js'
import { openPostgresLog } from '../postgres/public.js'

/** Return the options of `connect` for a commit log. `url`: its URL; undefined: the log is in the files of the root. */
export async function logOf(url: string | undefined): Promise<Pick<ConnectOptions, 'log'>> {
  return url === undefined ? {} : { log: await openPostgresLog(url) }
}
