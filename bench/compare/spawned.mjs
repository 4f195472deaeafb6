/** Runs work in processes of their own. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('in-process.mjs', import.meta.url))

/** What `in-process.mjs` prints of this work by this engine. */
export function workedApart(work, engine, path, options = {}) {
  const args = [script, work, engine, path, JSON.stringify(options)]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1e9 })
  if (status !== 0) throw new Error(`${work} by ${engine} ended with ${status}: ${stderr}`)
  return JSON.parse(stdout)
}

/** As an option of the work `search`. */
export function encodedQuery(query) {
  return Buffer.from(query.buffer, query.byteOffset, query.byteLength).toString('base64')
}
