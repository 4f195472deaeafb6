/**
 * Starts a cluster of Ceph: a monitor and a daemon that stores objects in memory. The gateway with the interface of S3
 * (`radosgw`) is the process that tests kill.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findServer } from './find-server.mjs'
import { freePort, type Program } from './server.js'

const programs = ['radosgw', 'radosgw-admin', 'ceph-mon', 'ceph-osd', 'ceph', 'ceph-authtool', 'monmaptool']

/** Return how to run the gateway of a cluster, or null if Ceph is not installed. */
export function cephProgram(accessKey: string, secretKey: string): Program | null {
  if (programs.some(name => findServer(name) === null)) return null
  return {
    command: 'radosgw',
    args: (_port, folder) => ['-f', '-n', 'client.rgw', '-c', join(folder, 'ceph.conf')],
    async prepare(port, folder) {
      const ports = [await freePort(), await freePort()]
      const cluster = randomUUID()
      const path = (name: string) => join(folder, name)
      mkdirSync(path('mon'))
      mkdirSync(path('osd'))
      writeFileSync(path('ceph.conf'), configuration(folder, cluster, port, ports[0]!))
      const run = (command: string, ...args: string[]) =>
        execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 })
      const withConfiguration = ['-c', path('ceph.conf')]
      const addKey = (name: string, ...rights: string[]) => {
        const caps = rights.flatMap(right => {
          const [of, what] = right.split('=')
          return ['--cap', of!, what!]
        })
        run('ceph-authtool', '--create-keyring', path(`${name}.key`), '--gen-key', '-n', name, ...caps)
        run('ceph-authtool', path('keyring'), '--import-keyring', path(`${name}.key`))
      }
      writeFileSync(path('keyring'), '')
      addKey('mon.', 'mon=allow *')
      addKey('client.admin', 'mon=allow *', 'osd=allow *', 'mgr=allow *')
      addKey('osd.0', 'mon=allow profile osd', 'osd=allow *')
      addKey('client.rgw', 'mon=allow rw', 'osd=allow rwx')
      const address = `[v2:127.0.0.1:${ports[0]}]`
      run('monmaptool', '--create', '--addv', 'a', address, '--fsid', cluster, path('monmap'))
      const monitor = [...withConfiguration, '-i', 'a']
      run('ceph-mon', ...monitor, '--mkfs', '--monmap', path('monmap'), '--keyring', path('keyring'))
      const children: ChildProcess[] = []
      const start = (command: string, ...args: string[]) =>
        children.push(spawn(command, [...args, '-f'], { stdio: 'ignore' }))
      start('ceph-mon', ...monitor)
      // The monitor ignores a daemon with another id than the one that it knows.
      const daemon = randomUUID()
      run('ceph', ...withConfiguration, 'osd', 'new', daemon)
      run('ceph-osd', ...withConfiguration, '-i', '0', '--mkfs', '--osd-uuid', daemon)
      start('ceph-osd', ...withConfiguration, '-i', '0')
      const user = ['--uid', 'tests', '--display-name', 'tests']
      const keys = ['--access-key', accessKey, '--secret-key', secretKey]
      run('radosgw-admin', ...withConfiguration, 'user', 'create', ...user, ...keys)
      return async () => {
        for (const child of children) {
          if (child.exitCode !== null) continue
          child.kill('SIGKILL')
          await once(child, 'exit')
        }
      }
    },
  }
}

/** `tcp_nodelay`: without it, each read waits 40 ms for an acknowledgment. */
function configuration(folder: string, cluster: string, port: number, monitorPort: number): string {
  return `
[global]
fsid = ${cluster}
mon host = [v2:127.0.0.1:${monitorPort}/0]
mon initial members = a
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
public network = 127.0.0.0/8
cluster network = 127.0.0.0/8
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
mon max pg per osd = 1000
mon allow pool size one = true
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 4294967296
keyring = ${folder}/keyring
run dir = ${folder}
admin socket =
log file =
log to stderr = false
mon cluster log file =
[mon.a]
mon data = ${folder}/mon
[osd.0]
osd data = ${folder}/osd
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${port} tcp_nodelay=1
`
}
