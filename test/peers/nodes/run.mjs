/**
 * Runs the code blocks of the README and of docs/ on other versions of Node: `npm run test:peers -- nodes`. The versions come as the npm package
 * `node`, each in an ignored folder next to this file; a version that cannot be installed is skipped with a line.
 */
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installed, versions } from './installed.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')

let failed = false
for (const version of versions) {
  const program = installed(version)
  if (program === null) {
    console.log(`nodes: ${version} is skipped: it cannot be installed here`)
    continue
  }
  console.log(`nodes: the code of the documents on ${version}`)
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const words = [vitest, 'run', 'test/readme.test.ts', 'test/docs.test.ts', '-t', 'runs|prints']
  const { status } = spawnSync(process.execPath, words, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, SHEAF_DOCS_NODE: program },
  })
  if (status !== 0) failed = true
  if (Number(version.split('.')[0]) >= 24 && !readsSqlite(program)) failed = true
}

/** Run the tests of SQLite files on a version of Node with `node:sqlite`. Returns whether they pass. */
function readsSqlite(program) {
  const config = join(root, 'test', 'peers', 'vitest.config.ts')
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const words = [vitest, 'run', '--config', config, 'test/peers/imports.test.ts', '-t', 'SQLite']
  return spawnSync(program, words, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0
}

if (failed) process.exit(1)
