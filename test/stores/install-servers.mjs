/**
 * Installs the servers that are Go programs into `.servers/`, unless they are there or on the PATH. Prints a line for each
 * server that cannot be installed. Its tests are skipped. MinIO takes some minutes of computing time.
 */
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findServer, goServers } from './find-server.mjs'

const folder = join(dirname(fileURLToPath(import.meta.url)), '.servers')

for (const [name, module] of Object.entries(goServers)) {
  if (findServer(name) !== null) continue
  console.log(`installing ${name} ...`)
  const { status, error } = spawnSync('go', ['install', module], {
    env: { ...process.env, GOBIN: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  if (status !== 0)
    console.log(`stores: ${name} skipped: cannot install it (${error?.code ?? `go install: ${status}`})`)
}
