/**
 * What every npm script goes through: installs what is missing, builds what is stale, then runs.
 * Plain JavaScript, because it runs on a checkout where nothing is installed yet.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const [command, ...args] = process.argv.slice(2)
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
/**
 * By the lock file, and without touching it. Not `npm ci`: that refuses a lock file made where the registry had only
 * some platforms of an optional package.
 */
const installArguments = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']
const bin = name => join(root, 'node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name)

/** Runs a program in the foreground; its failure is ours. */
function run(program, programArgs, { quiet = false } = {}) {
  const result = spawnSync(program, programArgs, {
    cwd: root,
    stdio: ['ignore', quiet ? 'ignore' : 'inherit', 'inherit'],
    shell: process.platform === 'win32' && program.endsWith('.cmd'),
  })
  if (result.error) throw result.error
  if (result.signal) process.kill(process.pid, result.signal)
  if (result.status !== 0) process.exit(result.status ?? 1)
}

/** `node_modules` holds its own lock file; it is stale when ours is newer or says something else. */
function install() {
  const installed = join(root, 'node_modules', '.package-lock.json')
  if (existsSync(installed) && sameLock(installed)) return
  console.log('installing dependencies ...')
  run(npm, installArguments, { quiet: true })
}

function sameLock(installed) {
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const present = JSON.parse(readFileSync(installed, 'utf8')).packages
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || optional || present[path]?.version === version,
  )
}

function build() {
  run(process.execPath, ['scripts/build-kernels.mjs'])
  run(bin('tsc'), ['-p', 'tsconfig.json'])
  run(process.execPath, ['scripts/bundle.mjs'])
}

/** Benches that stand beside other engines keep those engines' packages to themselves. */
function installCompare() {
  const folder = join(root, 'bench', 'compare')
  const installed = join(folder, 'node_modules', '.package-lock.json')
  const manifest = join(folder, 'package.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(manifest).mtimeMs) return
  console.log('installing the engines to compare with ...')
  run(npm, [...installArguments, '--prefix', folder], { quiet: true })
}

/** Runs every property with one seed after another, until the budget is spent: `-- --seconds 600 --seed 1`. */
function testLong(options) {
  const option = (name, otherwise) =>
    options.includes(name) ? Number(options[options.indexOf(name) + 1]) : otherwise
  const seconds = option('--seconds', 600)
  const end = Date.now() + seconds * 1000
  for (let seed = option('--seed', 2); Date.now() < end; seed++) {
    console.log(`seed ${seed}`)
    process.env.SHEAF_SEED = String(seed)
    run(bin('vitest'), [
      'run',
      '--reporter=dot',
      '--exclude',
      'test/{package,readme}.test.ts',
      '--exclude',
      'test/bench/**',
    ])
  }
}

install()
switch (command) {
  case 'build':
    build()
    break
  case 'start':
    build()
    run(process.execPath, ['dist/scripts/start.js', ...args])
    break
  case 'test':
    build()
    run(bin('biome'), ['check', '.'])
    run(process.execPath, ['dist/scripts/map.js'])
    run(bin('vitest'), ['run', ...args])
    break
  case 'test:long':
    build()
    testLong(args)
    break
  case 'map':
    build()
    run(process.execPath, ['dist/scripts/map.js', ...args])
    break
  case 'bench':
    build()
    run(process.execPath, ['dist/bench/run.js', ...(args.includes('--small') ? args : ['--full', ...args])])
    break
  case 'bench:compare':
    build()
    installCompare()
    run(process.execPath, ['bench/compare/run.mjs', ...args])
    break
  default:
    console.error(
      `unknown command ${JSON.stringify(command)}: build, start, test, test:long, map, bench, bench:compare`,
    )
    process.exit(2)
}
