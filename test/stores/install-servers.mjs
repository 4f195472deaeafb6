/**
 * Installs the servers that are missing: those that are Go programs into `.servers/`, and Ceph, PostgreSQL, HAProxy and
 * nginx as packages of Debian, if this process is root. Prints a line for each server that cannot be installed. Its
 * tests are skipped. MinIO takes some minutes of computing time, Ceph 64 MB.
 */
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cephPackages, findBalancer, findPostgres, findServer, goServers } from './find-server.mjs'

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

const isRoot = process.getuid?.() === 0

/** Install packages of Debian. Returns whether they are installed. */
function installPackages(name, packages) {
  if (!isRoot) return false
  console.log(`installing ${name} ...`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const run = args => spawnSync('apt-get', args, { env, stdio: 'ignore' }).status
  return run(['update']) === 0 && run(['install', '--yes', '--no-install-recommends', ...packages]) === 0
}

if (findServer('radosgw') === null && !installPackages('Ceph', cephPackages))
  console.log(`stores: Ceph skipped: install the packages ${cephPackages.join(' ')} of Debian or Ubuntu`)
if (findPostgres() === null) {
  installPackages('PostgreSQL', ['postgresql'])
  if (findPostgres() === null)
    console.log('stores: PostgreSQL skipped: install the package postgresql of Debian or Ubuntu')
}
for (const name of ['haproxy', 'nginx']) {
  if (findBalancer(name) !== null) continue
  installPackages(name, [name])
  if (findBalancer(name) === null)
    console.log(`stores: ${name} skipped: install the package ${name} of Debian or Ubuntu`)
}
if (findBalancer('envoy') === null)
  console.log('stores: Envoy skipped: put the program envoy on the PATH, or into test/stores/.servers')
