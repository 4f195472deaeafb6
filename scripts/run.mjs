/**
 * Runs all npm scripts: installs missing packages, builds everything that is out of date, and runs the command. The
 * script is plain JavaScript, because it runs in a checkout in which nothing is installed yet.
 */
import * as processes from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npmCommand } from './npm.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const [command, ...args] = process.argv.slice(2)
const installOptions = ['--no-audit', '--no-fund', '--loglevel=error']
/**
 * Return the npm arguments that install the packages of a folder exactly as its lock file says. `npm ci` refuses the
 * lock files of the benches, of the peer tests and of the tests of stores, because these lack optional packages of some
 * platforms. So other folders use `npm install`.
 */
const installCommand = folder => (folder === root ? ['ci'] : ['install', '--no-save'])
/** The packages of the tools that the commands use. */
const packages = { biome: '@biomejs/biome', tsc: 'typescript', vitest: 'vitest' }

/**
 * Return the JavaScript file of a tool. The files in `node_modules/.bin` are batch files on Windows. These need a shell,
 * and a shell divides paths at spaces.
 */
function entryOf(tool) {
  const folder = join(root, 'node_modules', packages[tool])
  return join(folder, JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).bin[tool])
}

function spawn(program, programArgs, { cwd = root, quiet = false, env = process.env, timeout } = {}) {
  const result = processes.spawnSync(program, programArgs, {
    cwd,
    env,
    timeout,
    stdio: ['ignore', quiet ? 'ignore' : 'inherit', 'inherit'],
  })
  if (result.error?.code === 'ETIMEDOUT') return 1
  if (result.error) throw result.error
  if (result.signal) process.kill(process.pid, result.signal)
  return result.status ?? 1
}

/** Run a program and wait for its end. If it fails, exit with its status. */
function run(program, programArgs, options) {
  const status = spawn(program, programArgs, options)
  if (status !== 0) process.exit(status)
}

/**
 * Start a program in the background. Returns a function that waits for its end. If the program failed, this function
 * exits with its status.
 */
function start(program, programArgs) {
  const child = processes.spawn(program, programArgs, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(child, 'exit')
  return async () => {
    const [status] = await ended
    if (status !== 0) process.exit(status ?? 1)
  }
}

/** Install the packages of a folder as its lock file says. Returns the exit status of npm. */
function install(folder, what, ...extra) {
  if (isInstalled(folder)) return 0
  console.log(`installing ${what} ...`)
  const [program, ...first] = npmCommand()
  const npmArgs = [...first, ...installCommand(folder), ...installOptions, ...extra, '--prefix', folder]
  return spawn(program, npmArgs, { quiet: true })
}

/**
 * Return whether `node_modules` of a folder is up to date: its own lock file must agree with the lock file of the
 * folder.
 */
function isInstalled(folder) {
  const lock = join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(lock)) return false
  const wanted = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages
  const present = JSON.parse(readFileSync(lock, 'utf8')).packages
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || optional || present[path]?.version === version,
  )
}

/** Install the packages of a folder. Exits if the installation fails. */
function need(folder, what) {
  const status = install(folder, what)
  if (status !== 0) process.exit(status)
}

function build() {
  run(process.execPath, ['scripts/build-kernels.mjs'])
  run(process.execPath, [entryOf('tsc'), '-p', 'tsconfig.json'])
  run(process.execPath, ['scripts/bundle.mjs'])
}

/**
 * Run the tests with real clients, whose packages are in a separate folder. The tests are skipped if these packages
 * cannot be installed or loaded, because there is no network or no build for this platform. This is not a failure.
 * `test:peers -- <name> [options]` runs test/peers/<name>/run.mjs, for example clients in other languages.
 */
function testPeers(options) {
  const folder = join(root, 'test', 'peers')
  const program = join(folder, options[0] ?? '', 'run.mjs')
  if (options.length > 0 && existsSync(program)) return run(process.execPath, [program, ...options.slice(1)])
  // Older releases have no build for some platforms. test/peers/peers.ts skips them there.
  const clients = ['@lancedb/lancedb', 'lancedb-0.37']
  const load = `await Promise.all(${JSON.stringify(clients)}.map(name => import(name)))`
  const have =
    install(folder, 'the clients to test with', '--fetch-retries=1') === 0 &&
    spawn(process.execPath, ['--input-type=module', '-e', load], { cwd: folder }) === 0
  if (!have) {
    console.log(
      `peers: 0 clients tested, ${clients.length} skipped, because they cannot be installed or loaded on this machine`,
    )
    return
  }
  installNative(join(folder, 'native'))
  run(process.execPath, [entryOf('tsc'), '-p', folder])
  run(process.execPath, [entryOf('vitest'), 'run', '--config', join(folder, 'vitest.config.ts'), ...options])
  console.log(`peers: ${clients.length} clients tested, 0 skipped`)
}

/**
 * Install the packages that compile native code, or print that their tests are skipped. Without optimization, the
 * compilation takes seconds instead of minutes.
 */
function installNative(folder) {
  if (isInstalled(folder)) return
  console.log('compiling hnswlib-node and better-sqlite3 ...')
  const [program, ...first] = npmCommand()
  const npmArgs = [
    ...first,
    'install',
    '--no-save',
    ...installOptions,
    '--fetch-retries=1',
    '--prefix',
    folder,
  ]
  const env = { ...process.env, CFLAGS: '-O0', CXXFLAGS: '-O0' }
  const status = spawn(program, npmArgs, { quiet: true, env, timeout: 180_000 })
  if (status !== 0)
    console.log('peers: packages that compile native code skipped, because this failed or took too long')
}

/**
 * Run the tests with servers of object storage and PostgreSQL, whose packages and programs are in a separate folder. The
 * tests of a server are skipped if it cannot be installed.
 */
function testStores(options) {
  const folder = join(root, 'test', 'stores')
  if (install(folder, 'servers and clients of object storage and PostgreSQL', '--fetch-retries=1') !== 0) {
    console.log('stores: skipped, because the clients cannot be installed on this machine')
    return
  }
  run(process.execPath, [join(folder, 'install-servers.mjs')])
  run(process.execPath, [entryOf('tsc'), '-p', folder])
  const oldest = join(folder, 'oldest')
  if (install(oldest, 'the oldest clients of object storage', '--fetch-retries=1') === 0)
    run(process.execPath, [entryOf('tsc'), '-p', oldest])
  else console.log('stores: the oldest clients skipped, because they cannot be installed on this machine')
  run(process.execPath, [entryOf('vitest'), 'run', '--config', join(folder, 'vitest.config.ts'), ...options])
}

/** Tests that measure the recall of vector indexes on data of full size. They take minutes. */
const recallTests = ['test/indexes/vector/recall.test.ts', 'test/indexes/vector/filtered-recall.test.ts']

/** Tests of a server with malformed requests and with high load. Their duration is a parameter. */
const serverTests = ['test/adapters/http/fuzz.test.ts', 'test/adapters/http/load.test.ts']

/** Tests that read random damaged files of other programs. The number of files is a parameter. */
const damagedFileTests = [
  'test/lance/fuzz.test.ts',
  'test/adapters/files/parquet.test.ts',
  'test/adapters/files/read-hnswlib.test.ts',
]

/** The model of the commit protocol with tails. It always explores the same states. */
const tailModel = {
  explore: join('dist', 'test', 'commit', 'tails', 'explore.js'),
  test: 'test/commit/tails/model.test.ts',
}

/**
 * Explore the model of the commit protocol, and run the recall tests, the server tests, and the tests with damaged files,
 * once. Then run all property
 * tests again and again, each time with the next seed, until the time is over: `-- --seconds 600 --seed 1`.
 */
function testLong(options) {
  const option = (name, otherwise) =>
    options.includes(name) ? Number(options[options.indexOf(name) + 1]) : otherwise
  const seconds = option('--seconds', 600)
  run(process.execPath, [tailModel.explore])
  process.env.SHEAF_CRASH_SECONDS = String(Math.min(60, Math.max(10, seconds / 10)))
  process.env.SHEAF_RECALL = 'full'
  run(process.execPath, [entryOf('vitest'), 'run', ...recallTests])
  delete process.env.SHEAF_RECALL
  process.env.SHEAF_FUZZ = '1000000'
  process.env.SHEAF_LOAD_SECONDS = '60'
  run(process.execPath, [entryOf('vitest'), 'run', ...serverTests])
  delete process.env.SHEAF_FUZZ
  delete process.env.SHEAF_LOAD_SECONDS
  process.env.SHEAF_DAMAGED_FILES = '100000'
  run(process.execPath, [entryOf('vitest'), 'run', '-t', 'damaged|truncated', ...damagedFileTests])
  delete process.env.SHEAF_DAMAGED_FILES
  const end = Date.now() + seconds * 1000
  for (let seed = option('--seed', 1); Date.now() < end; seed++) {
    console.log(`seed ${seed}`)
    process.env.SHEAF_SEED = String(seed)
    run(process.execPath, [
      entryOf('vitest'),
      'run',
      '--reporter=dot',
      '--exclude',
      'test/{package,readme,docs}.test.ts',
      '--exclude',
      'test/bench/**',
      // These tests use no seed, so every round would be the same.
      '--exclude',
      'test/sql/logic/logic.test.ts',
      '--exclude',
      tailModel.test,
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
    // Run the linter and the build at the same time, because each of them leaves a core idle for part of the time.
    const lintEnds = start(process.execPath, [entryOf('biome'), 'check', '.'])
    build()
    await lintEnds()
    run(process.execPath, ['dist/scripts/map.js'])
    run(process.execPath, [entryOf('vitest'), 'run', ...args])
    console.log(
      'further tests: npm run test:peers (real clients), npm run test:stores (object storage), npm run test:long (more seeds)',
    )
    break
  }
  case 'test:peers':
    build()
    testPeers(args)
    break
  case 'test:stores':
    build()
    testStores(args)
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
    // If the newer Node cannot be installed, the benches that need it are skipped.
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
      `the command ${JSON.stringify(command)} does not exist. Commands: build, start, test, test:peers, test:stores, test:long, story, map, bench, bench:compare`,
    )
    process.exit(2)
}
