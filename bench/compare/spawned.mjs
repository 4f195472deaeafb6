/** Runs work in separate processes. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('in-process.mjs', import.meta.url))

const { NODE_EXTRA_CA_CERTS: _certificates, NODE_OPTIONS: _options, ...others } = process.env

/** The environment without variables that make each start of Node slower on some machines, for example by 30 ms. */
export const plainEnvironment = others

/** Variables that limit LanceDB to one thread for each kind of work. */
const oneThread = { TOKIO_WORKER_THREADS: '1', LANCE_CPU_THREADS: '1', LANCE_IO_THREADS: '1' }
/** Work that all engines do on one thread. */
const threaded = new Set(['scan', 'nearest'])

/** Run work with an engine in a separate process. Returns the output of `in-process.mjs`. */
export function workedApart(work, engine, path, options = {}) {
  const args = [script, work, engine, path, JSON.stringify(options)]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    maxBuffer: 1e9,
    env: threaded.has(work) ? { ...plainEnvironment, ...oneThread } : plainEnvironment,
  })
  if (status !== 0)
    throw new Error(`the process of ${work} by ${engine} exited with the status ${status}: ${stderr}`)
  return JSON.parse(stdout)
}

/** Encode a query for the work `search`. */
export function encodedQuery(query) {
  return Buffer.from(query.buffer, query.byteOffset, query.byteLength).toString('base64')
}
