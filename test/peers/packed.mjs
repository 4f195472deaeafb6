/** Installs the package as users get it: packed, into a folder with other packages. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { npmCommand } from '../../scripts/npm.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

function runNpm(words, cwd) {
  const [program, ...first] = npmCommand()
  const options = { cwd, stdio: ['ignore', 'ignore', 'inherit'], timeout: 200_000 }
  return spawnSync(program, [...first, ...words, '--loglevel=error'], options).status === 0
}

/** Install the packed package and the packages that `folder/package.json` names. Returns false if that is not possible. */
export function installPacked(folder) {
  const packed = mkdtempSync(join(tmpdir(), 'sheaf-packed-'))
  try {
    if (!runNpm(['pack', '--ignore-scripts', '--pack-destination', packed], root)) return false
    const tarball = join(packed, readdirSync(packed)[0])
    // A package of the same version would be kept.
    rmSync(join(folder, 'node_modules', 'sheaf'), { recursive: true, force: true })
    const quiet = ['--no-audit', '--no-fund', '--no-save', '--no-package-lock', '--fetch-retries=1']
    return runNpm(['install', tarball, ...quiet], folder)
  } finally {
    rmSync(packed, { recursive: true })
  }
}

/** Run a program. Returns its output and whether it succeeded. */
export function run(program, words, cwd, env = {}) {
  const options = { cwd, encoding: 'utf8', timeout: 90_000, env: { ...process.env, ...env } }
  const { status, stdout, stderr, error } = spawnSync(program, words, options)
  return {
    passed: status === 0,
    output: `${stdout}${stderr}${error ?? ''}`.trim(),
    stdout: String(stdout).trim(),
  }
}

/** Collects results, one line each. */
export class Results {
  #failed = 0

  /** Print a result. `detail`: what passed, or the output of a failure. */
  add(name, passed, detail) {
    if (!passed) this.#failed++
    console.log(`${passed ? 'passed' : 'FAILED'}  ${name.padEnd(28)} ${detail}`)
  }

  skip(name) {
    console.log(`skipped ${name.padEnd(28)} cannot be installed here`)
  }

  /** End the process with a failure if a result was one. */
  end() {
    if (this.#failed > 0) process.exit(1)
  }
}
