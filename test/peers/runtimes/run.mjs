/**
 * Uses every part of the packed package on each runtime: `npm run test:peers -- runtimes`. Prints what passed. A runtime that cannot be
 * installed is skipped with a line.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installed, versions } from '../nodes/installed.mjs'
import { installPacked, Results, run } from '../packed.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const results = new Results()
const programs = ['imports.mjs', 'requires.cjs']

function test(name, program, options) {
  for (const file of programs) {
    const { passed, output, stdout } = run(program, [...options, file], here)
    // Some runtimes report an error in a thread, and still succeed.
    results.add(`${name} ${file}`, passed && output === stdout, output)
  }
}

if (!installPacked(here)) {
  console.log('runtimes: skipped: the packages cannot be installed here')
  process.exit(0)
}
for (const version of versions) {
  const program = installed(version)
  if (program === null) results.skip(`Node ${version}`)
  else test(`Node ${version}`, program, [])
}
for (const [name, options] of [
  ['bun', []],
  ['deno', ['run', '--allow-all', '--no-lock']],
]) {
  const program = join(here, 'node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name)
  if (!existsSync(program) || !run(program, ['--version'], here).passed) results.skip(name)
  else test(name, program, options)
}
results.end()
