/**
 * Installs the servers that are missing: those that are Go programs into `.servers/`, and Ceph as packages of Debian, if
 * this process is root. Prints a line for each server that cannot be installed. Its tests are skipped. MinIO takes some
 * minutes of computing time, Ceph 64 MB.
 */
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cephPackages, findServer, goServers } from './find-server.mjs'

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

if (findServer('radosgw') === null) {
  const isRoot = process.getuid?.() === 0
  if (isRoot) console.log('installing Ceph ...')
  const run = args => spawnSync('apt-get', args, { stdio: 'ignore' }).status
  const isInstalled =
    isRoot &&
    run(['update']) === 0 &&
    run(['install', '--yes', '--no-install-recommends', ...cephPackages]) === 0
  if (!isInstalled)
    console.log(`stores: Ceph skipped: install the packages ${cephPackages.join(' ')} of Debian or Ubuntu`)
}
