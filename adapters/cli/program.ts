/**
 * The program `sheaf`. Exit codes: 0 success, 1 failure, 2 invalid arguments, 3 another process runs the job of `work --job`, 128 and the number of the signal if a signal stopped
 * the command before it finished. Results go to standard output, everything else to standard error.
 */
import { readFileSync } from 'node:fs'
import { SheafError } from '../../src/errors.js'
import { type Command, readArguments } from './arguments.js'
import { isCommand } from './commands.js'
import { compactDirectory } from './compact.js'
// No command is loaded lazily: the chunk of all lazy code, which the library also loads, would import this program.
import { showDiff } from './diff.js'
import { checkDirectory } from './doctor.js'
import { exportTable } from './export.js'
import { importSources } from './import.js'
import { inspectDirectory } from './inspect.js'
import { Misuse } from './misuse.js'
import { moveLogOf } from './move-log.js'
import { queryTable, showHead } from './query.js'
import { serveDirectory } from './serve.js'
import { Stopped } from './stopping.js'
import { usage, usageLineOf, usageOf } from './usage.js'
import { verifyDirectory } from './verify.js'
import { viewDirectory } from './view.js'
import { workOnDirectory } from './work.js'

async function run(command: Command): Promise<void> {
  switch (command.kind) {
    case 'help':
      process.stdout.write(command.command === undefined ? usage : usageOf(command.command))
      return
    case 'version':
      console.log(packageVersion())
      return
    case 'misuse':
      throw new Misuse(command.problem)
    case 'serve':
      return serveDirectory(command)
    case 'view':
      return viewDirectory(command)
    case 'inspect':
      return inspectDirectory(command)
    case 'verify':
      return verifyDirectory(command)
    case 'compact':
      return compactDirectory(command)
    case 'move-log':
      return moveLogOf(command)
    case 'work':
      return workOnDirectory(command)
    case 'doctor':
      return checkDirectory(command)
    case 'query':
      return queryTable(command)
    case 'head':
      return showHead(command)
    case 'diff':
      return showDiff(command)
    case 'import':
      return importSources(command)
    case 'export':
      return exportTable(command)
  }
}

/** Return the version of the package. The program runs from `dist/lib/`. */
function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

function fail(cause: unknown): void {
  process.exitCode = 1
  if (cause instanceof Misuse) {
    const name = process.argv.slice(2).find(isCommand)
    console.error(`sheaf: ${cause.message}\n\n${name === undefined ? usage : usageLineOf(name)}`)
    process.exitCode = 2
  } else if (cause instanceof Stopped) {
    console.error(`sheaf: ${cause.message}`)
    process.exitCode = cause.exitCode
  } else if (cause instanceof SheafError) {
    // Leave out hints about functions of the library, which this program has no options for.
    const hint = /create: true|createNamespace/.test(cause.hint ?? '') ? undefined : cause.hint
    console.error(`sheaf: ${cause.message}${hint === undefined ? '' : ` (${hint})`}`)
  } else console.error(cause)
}

const command = readArguments(process.argv.slice(2), process.env)

// End quietly if the program that reads the output, such as `head`, closes the pipe. But `doctor` first deletes what it wrote.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  if (command.kind !== 'doctor') process.exit()
})
// After SIGHUP the terminal is gone. A message for it must not end the server before it has answered.
process.stderr.on('error', () => {})

await run(command).catch(fail)
