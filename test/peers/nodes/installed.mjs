/** Installs versions of Node, as the npm package `node`, each in an ignored folder next to this file. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npmCommand } from '../../../scripts/npm.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const installMs = 150_000

/** The oldest version that is supported, and the newest of each later line. */
export const versions = ['20.15.0', '22.23.3', '24.21.0']

/** Return the program of a version, or null if it cannot be installed. */
export function installed(version) {
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
    const [npm, ...first] = npmCommand()
    spawnSync(npm, [...first, ...words], { cwd: folder, stdio: 'ignore', timeout: installMs })
  }
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return status === 0 && stdout.trim() === `v${version}` ? program : null
}
