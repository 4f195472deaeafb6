/** The exports of `sheaf/postgres`. */

export type { ExternalLog } from '../../src/commit/external-log.js'
export { openPostgresLog, type PostgresLogOptions, type PostgresPool } from './open-postgres-log.js'
