/**
 * Runs the code blocks of the README and of docs/ on other versions of Node: `npm run test:peers -- nodes`. The versions come as the npm package
 * `node`, each in an ignored folder next to this file; a version that cannot be installed is skipped with a line.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..', '..')
/** The oldest that is supported, and the newest of each later line. */
const versions = ['20.15.0', '22.23.3', '24.21.0']
const installMs = 150_000
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

/** The program of a version; null where it cannot be installed. */
function installed(version) {
  const folder = join(here, `node-${version}`)
  const program = join(
    folder,
    'node_modules',
    'node',
    'bin',
    process.platform === 'win32' ? 'node.exe' : 'node',
  )
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const words = ['install', `node@${version}`, '--no-audit', '--no-fund', '--loglevel=error']
    spawnSync(npm, words, {
      cwd: folder,
      stdio: 'ignore',
      timeout: installMs,
      shell: process.platform === 'win32',
    })
  }
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return status === 0 && stdout.trim() === `v${version}` ? program : null
}

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
}
if (failed) process.exit(1)
