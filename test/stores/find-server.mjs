/** Finds the programs of servers. */
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = join(dirname(fileURLToPath(import.meta.url)), '.servers')

/** By the name of the program: the module that `go install` builds. */
export const goServers = {
  'fake-gcs-server': 'github.com/fsouza/fake-gcs-server@v1.56.1',
  minio: 'github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c',
}

/** The packages of Debian with the servers of Ceph. */
export const cephPackages = ['radosgw', 'ceph-mon', 'ceph-osd']

/** Return the path of a program in `.servers/` or on the PATH, or null. */
export function findServer(name) {
  const folders = [folder, ...(process.env.PATH ?? '').split(delimiter)]
  return folders.map(each => join(each, name)).find(path => existsSync(path)) ?? null
}

/** Return the folder with the programs of PostgreSQL, or null. */
export function findPostgres() {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...versions.map(version => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  return folders.find(each => ['initdb', 'postgres'].every(name => existsSync(join(each, name)))) ?? null
}

/** Return the path of a load balancer, or null. Debian installs it into a folder that is not on the PATH of every user. */
export function findBalancer(name) {
  return findServer(name) ?? [join('/usr/sbin', name)].find(path => existsSync(path)) ?? null
}
