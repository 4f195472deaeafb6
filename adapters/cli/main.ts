#!/usr/bin/env node
/**
 * The program `sheaf`. Exits with 0 when it did what was asked, 1 when that failed, 2 when the arguments make no sense, 130 and
 * 143 when SIGINT and SIGTERM stopped it before it had. Standard output carries what was asked for; everything else goes to
 * standard error.
 */
import { readFileSync } from 'node:fs'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { type Command, Misuse, readArguments } from './arguments.js'
import { compactDirectory } from './compact.js'
import { inspectDirectory } from './inspect.js'
import { serveDirectory } from './serve.js'
import { Stopped } from './stopping.js'
import { usage, usageOf } from './usage.js'
import { verifyDirectory } from './verify.js'

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
    case 'inspect':
      return inspectDirectory(command)
    case 'verify':
      return verifyDirectory(command)
    case 'compact':
      return compactDirectory(command)
  }
}

/** The program runs from `dist/lib/`. */
function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

function fail(cause: unknown): void {
  process.exitCode = 1
  if (cause instanceof Misuse) {
    console.error(`sheaf: ${cause.message}\n\n${usage}`)
    process.exitCode = 2
  } else if (cause instanceof Stopped) {
    console.error(`sheaf: ${cause.message}`)
    process.exitCode = cause.exitCode
  } else if (cause instanceof SheafError) {
    // Of a directory that is missing the hint speaks of `connect`.
    const hint = cause.code === ErrorCode.NamespaceNotFound ? undefined : cause.hint
    console.error(`sheaf: ${cause.message}${hint === undefined ? '' : ` (${hint})`}`)
  } else console.error(cause)
}

// Who reads the output may have had enough of it.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

await run(readArguments(process.argv.slice(2), process.env)).catch(fail)
