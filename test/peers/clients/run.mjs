/**
 * Runs published clients of other languages against a server of ours: `npm run test:peers -- clients [name...] [options]`.
 *
 *   --share   only what installs and runs in a few minutes
 *
 * A client is a program in a folder beside this file, which prints `same <step>` or `differs <step>: <why>`, or an example of
 * examples/clients, which prints the rows that it finds. The run fails when a step differs that known-differences.json does not
 * list, or when a program fails. A program whose packages cannot be installed is skipped.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..', '..')
const examples = join(root, 'examples', 'clients')
const known = JSON.parse(readFileSync(join(here, 'known-differences.json'), 'utf8'))

/** The time that one step of an installation may take, and one program. */
const installMs = 150_000
const runMs = 5 * 60_000

/** Runs a step of an installation; false where it fails, takes too long, or its program is missing. */
function attempt(program, args, cwd) {
  const result = spawnSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'], timeout: installMs })
  if (result.status !== 0 && result.stderr?.length > 0)
    console.log(String(result.stderr).trim().split('\n').slice(-3).join('\n'))
  return result.status === 0
}

/** The interpreter in the folder venv of one of the folders beside this file. */
function pythonOf(folder) {
  const parts = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']
  return join(here, folder, 'venv', ...parts)
}

/** Installs the packages of one list into the folder venv beside the list, unless they are there. */
function installPython(folder, list) {
  const wanted = readFileSync(join(here, folder, list), 'utf8')
  const venv = join(here, folder, 'venv')
  const python = pythonOf(folder)
  const mark = join(venv, `installed-${list}`)
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return true
  const pythons = ['python3.11', 'python3.12', 'python3']
  if (!existsSync(python) && !pythons.some(each => attempt(each, ['-m', 'venv', venv], here))) return false
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', list]
  if (!attempt(python, pip, join(here, folder))) return false
  writeFileSync(mark, wanted)
  return true
}

/** Copies the jars that spark/pom.xml names, and what they need, into spark/target/jars. */
function installJars() {
  const copy = ['dependency:copy-dependencies', '-DincludeScope=runtime', '-DoutputDirectory=target/jars']
  return attempt('mvn', ['--quiet', '--batch-mode', ...copy], join(here, 'spark'))
}

/** Fetches what a Cargo.lock names, and builds and runs the program beside it. */
const cargo = {
  install: ['cargo', 'fetch', '--locked'],
  run: ['cargo', 'run', '--locked', '--offline', '--quiet'],
}

/** Installs what a pom.xml names, and runs the program that it names. */
const maven = {
  install: ['mvn', '--quiet', '--batch-mode', '-Dmaven.main.skip', '-Dexec.skip', 'compile', 'exec:exec'],
  run: ['mvn', '--quiet', '--batch-mode', '--offline', 'compile', 'exec:exec'],
}

/** A program in the folder python, with the packages of these lists. */
function pythonProgram(share, name, ...lists) {
  return {
    share,
    install: () => lists.every(list => installPython('python', list)),
    command: [pythonOf('python'), join(here, 'python', name)],
  }
}

/** A client by name: whether it belongs to the share, its installation, and its program. */
const clients = {
  'python-lancedb': pythonProgram(true, 'lancedb_client.py', 'requirements.txt'),
  'python-namespace': pythonProgram(true, 'namespace_client.py', 'requirements.txt'),
  'python-pylance': pythonProgram(true, 'pylance_client.py', 'requirements.txt'),
  'python-example': pythonProgram(true, 'example_client.py', 'requirements.txt'),
  'python-engines': pythonProgram(false, 'engines_client.py', 'requirements.txt', 'requirements-engines.txt'),
  'python-lance-engines': pythonProgram(
    false,
    'lance_engines_client.py',
    'requirements.txt',
    'requirements-engines.txt',
  ),
  'spark-lance': {
    share: false,
    install: () => installPython('spark', 'requirements.txt') && installJars(),
    command: [pythonOf('spark'), join(here, 'spark', 'lance_spark_client.py')],
  },
  go: example('go', true, ['go', 'mod', 'download'], ['go', 'run', '.']),
  rust: example('rust', true, cargo.install, cargo.run),
  'rust-steps': {
    share: true,
    install: () => attempt('cargo', cargo.install.slice(1), join(here, 'rust')),
    command: cargo.run,
    cwd: join(here, 'rust'),
  },
  java: example('java', true, maven.install, maven.run),
  'java-steps': {
    share: true,
    install: () => attempt('mvn', maven.install.slice(1), join(here, 'java')),
    command: maven.run,
    cwd: join(here, 'java'),
  },
}

/** An example in examples/clients: it writes three rows and prints the nearest two. */
function example(name, share, [installer, ...options], command) {
  const cwd = join(examples, name)
  return { share, install: () => attempt(installer, options, cwd), command, cwd, prints: ['1 red', '3 blue'] }
}

/** Starts a server of databases in a fresh folder; gives its address. */
async function startServer(folder) {
  const program = [join(root, 'dist', 'lib', 'cli.js'), 'serve', folder, '--port', '0']
  const options = ['--databases', '--create-databases', '--default-database', 'main', '--log', 'none']
  const server = spawn(process.execPath, [...program, ...options], { stdio: ['ignore', 'pipe', 'ignore'] })
  for await (const line of createInterface({ input: server.stdout })) {
    const url = /https?:\/\/\S+/.exec(line)?.[0]
    if (url !== undefined) return { url, server }
  }
  throw new Error('the server ended before it listened')
}

/** Runs a program against a server of its own; gives its lines and whether it ended well. */
async function runClient({ command: [program, ...args], cwd = here }) {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-clients-'))
  const { url, server } = await startServer(join(folder, 'root'))
  const env = {
    ...process.env,
    SHEAF_URL: url,
    SHEAF_ROOT: join(folder, 'root'),
    LANCEDB_LOG: 'error',
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONPATH: join(examples, 'python'),
  }
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: runMs })
  const lines = []
  const errors = []
  createInterface({ input: child.stdout }).on('line', line => lines.push(stripVTControlCharacters(line)))
  createInterface({ input: child.stderr }).on('line', line => errors.push(line))
  const status = await new Promise(done => {
    child.once('error', () => done(1))
    child.once('close', code => done(code ?? 1))
  })
  server.kill('SIGTERM')
  await new Promise(done => server.once('close', done))
  rmSync(folder, { recursive: true, force: true })
  return { lines, errors: errors.slice(-15), ended: status === 0 }
}

const args = process.argv.slice(2)
const unknown = args.filter(each => each !== '--share' && !(each in clients))
if (unknown.length > 0) {
  console.error(
    `unknown argument ${JSON.stringify(unknown[0])}: --share, or a client: ${Object.keys(clients).join(', ')}`,
  )
  process.exit(2)
}
const named = args.filter(each => each in clients)
const totals = { passed: 0, failed: 0, skipped: 0 }
for (const [name, client] of Object.entries(clients)) {
  if (named.length > 0 ? !named.includes(name) : args.includes('--share') && !client.share) continue
  if (!client.install()) {
    console.log(`${name}: skipped, its packages cannot be installed here`)
    totals.skipped++
    continue
  }
  const reasons = known[name] ?? {}
  const { lines: printed, errors, ended } = await runClient(client)
  const asPrinted = JSON.stringify(printed.filter(Boolean)) === JSON.stringify(client.prints)
  const lines =
    client.prints === undefined
      ? printed
      : [asPrinted ? 'same example' : `differs example: printed ${JSON.stringify(printed)}`]
  const same = lines.filter(line => line.startsWith('same ')).map(line => line.slice(5))
  const differs = lines.filter(line => line.startsWith('differs ')).map(line => line.slice(8))
  const reasonOf = line => Object.entries(reasons).find(([step]) => line.startsWith(`${step}: `))?.[1]
  const surprises = differs.filter(line => reasonOf(line) === undefined)
  console.log(
    `${name}: ${same.length} steps as wanted, ${differs.length} differ, as known: ${differs.length - surprises.length}`,
  )
  for (const line of surprises) console.log(`  differs, and is not listed: ${line}`)
  for (const step of same)
    if (step in reasons) console.log(`  as wanted, and is listed as differing: ${step}`)
  if (!ended) console.log(`  the program failed:\n    ${errors.join('\n    ')}`)
  totals.passed += same.length + differs.length - surprises.length
  totals.failed += surprises.length + (ended ? 0 : 1)
}
console.log(`clients: ${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
process.exitCode = totals.failed > 0 ? 1 : 0
