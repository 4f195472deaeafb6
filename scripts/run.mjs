/**
 * Runs every npm script: installs missing packages, builds what is out of date, then runs the command.
 * Plain JavaScript, because it runs on a checkout where nothing is installed yet.
 */
import * as processes from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const [command, ...args] = process.argv.slice(2)
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
const installOptions = ['--no-audit', '--no-fund', '--loglevel=error']
/**
 * Install by the lock file of a folder, without changing it. `npm ci` does this, except that it refuses the lock files of the benches and
 * of the test partners: these lack some platforms of optional packages.
 */
const installCommand = folder => (folder === root ? ['ci'] : ['install', '--no-save'])
const bin = name => join(root, 'node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name)

function spawn(program, programArgs, { cwd = root, quiet = false } = {}) {
  const result = processes.spawnSync(program, programArgs, {
    cwd,
    stdio: ['ignore', quiet ? 'ignore' : 'inherit', 'inherit'],
    shell: process.platform === 'win32' && program.endsWith('.cmd'),
  })
  if (result.error) throw result.error
  if (result.signal) process.kill(process.pid, result.signal)
  return result.status ?? 1
}

/** Run a program in the foreground. If it fails, exit with its status. */
function run(program, programArgs, options) {
  const status = spawn(program, programArgs, options)
  if (status !== 0) process.exit(status)
}

/**
 * Start a program that runs while this one continues. Returns a function that waits for its end. If the program failed, the function ends
 * this process with its status.
 */
function start(program, programArgs) {
  const child = processes.spawn(program, programArgs, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32' && program.endsWith('.cmd'),
  })
  const ended = once(child, 'exit')
  return async () => {
    const [status] = await ended
    if (status !== 0) process.exit(status ?? 1)
  }
}

/** Install the packages of a folder by its lock file. Returns the exit status of npm. */
function install(folder, what, ...extra) {
  if (isInstalled(folder)) return 0
  console.log(`installing ${what} ...`)
  return spawn(npm, [...installCommand(folder), ...installOptions, ...extra, '--prefix', folder], {
    quiet: true,
  })
}

/** Return whether `node_modules` is up to date: it has its own lock file, which must agree with that of the folder. */
function isInstalled(folder) {
  const lock = join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(lock)) return false
  const wanted = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages
  const present = JSON.parse(readFileSync(lock, 'utf8')).packages
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || optional || present[path]?.version === version,
  )
}

/** Install the packages of a folder. Exits if this fails. */
function need(folder, what) {
  const status = install(folder, what)
  if (status !== 0) process.exit(status)
}

function build() {
  run(process.execPath, ['scripts/build-kernels.mjs'])
  run(bin('tsc'), ['-p', 'tsconfig.json'])
  run(process.execPath, ['scripts/bundle.mjs'])
}

/**
 * Run the tests with real clients, whose packages are in folders of their own. If packages cannot be installed, for lack of a
 * network or of a build for this platform, the tests are reported as skipped, which is not a failure.
 * `test:peers -- <name> [options]` runs test/peers/<name>/run.mjs: clients in other languages, other runtimes, bundlers.
 */
function testPeers(options) {
  const folder = join(root, 'test', 'peers')
  const program = join(folder, options[0] ?? '', 'run.mjs')
  if (options.length > 0 && existsSync(program)) return run(process.execPath, [program, ...options.slice(1)])
  const clients = Object.keys(
    JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies,
  ).filter(name => name.includes('lancedb'))
  const load = `await Promise.all(${JSON.stringify(clients)}.map(name => import(name)))`
  const have =
    install(folder, 'the clients to test with', '--fetch-retries=1') === 0 &&
    spawn(process.execPath, ['--input-type=module', '-e', load], { cwd: folder }) === 0
  if (!have) {
    console.log(`peers: 0 clients tested, ${clients.length} skipped: they cannot be installed or loaded here`)
    return
  }
  run(bin('tsc'), ['-p', folder])
  run(bin('vitest'), ['run', '--config', join(folder, 'vitest.config.ts'), ...options])
  console.log(`peers: ${clients.length} clients tested, 0 skipped`)
}

/** Tests of the recall of vector indexes on data of full size, which take minutes. */
const recallTests = ['test/indexes/vector/recall.test.ts', 'test/indexes/vector/filtered-recall.test.ts']

/** Tests of a server under attack and under load, whose duration is a parameter. */
const serverTests = ['test/adapters/http/fuzz.test.ts', 'test/adapters/http/load.test.ts']

/**
 * Run the recall tests and the server tests once, then every property test with one seed after another, until the time is up:
 * `-- --seconds 600 --seed 1`.
 */
function testLong(options) {
  const option = (name, otherwise) =>
    options.includes(name) ? Number(options[options.indexOf(name) + 1]) : otherwise
  const seconds = option('--seconds', 600)
  process.env.SHEAF_CRASH_SECONDS = String(Math.min(60, Math.max(10, seconds / 10)))
  process.env.SHEAF_RECALL = 'full'
  run(bin('vitest'), ['run', ...recallTests])
  delete process.env.SHEAF_RECALL
  process.env.SHEAF_FUZZ = '1000000'
  process.env.SHEAF_LOAD_SECONDS = '60'
  run(bin('vitest'), ['run', ...serverTests])
  delete process.env.SHEAF_FUZZ
  delete process.env.SHEAF_LOAD_SECONDS
  const end = Date.now() + seconds * 1000
  for (let seed = option('--seed', 1); Date.now() < end; seed++) {
    console.log(`seed ${seed}`)
    process.env.SHEAF_SEED = String(seed)
    run(bin('vitest'), [
      'run',
      '--reporter=dot',
      '--exclude',
      'test/{package,readme,docs}.test.ts',
      '--exclude',
      'test/bench/**',
      // These have no seed, so every round would be the same.
      '--exclude',
      'test/sql/logic/logic.test.ts',
      ...recallTests.flatMap(file => ['--exclude', file]),
      '--exclude',
      'test/adapters/http/load.test.ts',
    ])
  }
}

need(root, 'dependencies')
switch (command) {
  case 'build':
    build()
    break
  case 'start':
    build()
    run(process.execPath, ['dist/scripts/start.js', ...args])
    break
  case 'test': {
    // Each of the two leaves a core idle part of the time.
    const lintEnds = start(bin('biome'), ['check', '.'])
    build()
    await lintEnds()
    run(process.execPath, ['dist/scripts/map.js'])
    run(bin('vitest'), ['run', ...args])
    console.log('not part of this: npm run test:peers (real clients), npm run test:long (more seeds)')
    break
  }
  case 'test:peers':
    build()
    testPeers(args)
    break
  case 'test:long':
    build()
    testLong(args)
    break
  case 'story':
    build()
    run(process.execPath, ['dist/test/simulation/story.js', ...args])
    break
  case 'map':
    build()
    run(process.execPath, ['dist/scripts/map.js', ...args])
    break
  case 'bench':
    build()
    // Tests that need it are skipped if it is not available.
    if (args.includes('bulk')) install(join(root, 'bench', 'newer-node'), 'a newer Node')
    run(process.execPath, ['dist/bench/run.js', ...(args.includes('--small') ? args : ['--full', ...args])])
    break
  case 'bench:compare':
    build()
    need(join(root, 'bench', 'compare'), 'the engines to compare with')
    run(process.execPath, ['bench/compare/run.mjs', ...args])
    break
  default:
    console.error(
      `unknown command ${JSON.stringify(command)}: build, start, test, test:peers, test:long, story, map, bench, bench:compare`,
    )
    process.exit(2)
}
