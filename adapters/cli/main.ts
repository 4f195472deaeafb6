#!/usr/bin/env node
/**
 * The program `sheaf`. Exits with 0 when it did what was asked, 1 when that failed, 2 when the arguments make no sense.
 * Standard output carries what was asked for; everything else goes to standard error.
 */
import { readFileSync } from 'node:fs'
import { SheafError } from '../../src/errors.js'
import { connect, type VerifyProgress, verify } from '../../src/index.js'
import { serve } from '../http/server.js'
import { type Command, readArguments, usage } from './arguments.js'

async function run(command: Command): Promise<void> {
  switch (command.kind) {
    case 'help':
      process.stdout.write(usage)
      return
    case 'version':
      console.log(packageVersion())
      return
    case 'misuse':
      console.error(`sheaf: ${command.problem}\n\n${usage}`)
      process.exitCode = 2
      return
    case 'serve':
      return serveDirectory(command)
    case 'verify':
      return verifyDirectory(command)
  }
}

/** One line for each problem that is left on standard output; what was set right, and how far it is, on standard error. */
async function verifyDirectory({ directory, repair }: Extract<Command, { kind: 'verify' }>): Promise<void> {
  const { stderr } = process
  const stopped = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => stopped.abort(new Error(`stopped by ${signal}`)))
  }
  const onProgress = ({ phase, done, total }: VerifyProgress) => {
    if (done % 100 === 0 || done === total) stderr.write(`\r\x1b[K${phase}: ${done} of ${total}`)
  }
  const options = { repair, signal: stopped.signal, ...(stderr.isTTY && { onProgress }) }
  const { ok, problems, repaired, checked } = await verify(directory, options)
  if (stderr.isTTY) stderr.write('\r\x1b[K')
  for (const { kind, path, what } of repaired) console.error(`repaired: ${kind} ${path}: ${what}`)
  for (const { kind, path, what, repairable } of problems) {
    console.log(`${kind} ${path}: ${what}${repairable ? ' (--repair makes it again)' : ''}`)
  }
  const { slots, files, bytes, tables, versions } = checked
  const found = ok ? 'no problems' : `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`
  console.error(
    `${found} in ${tables} tables, ${versions} versions: ${slots} slots and ${files} files, ${bytes} bytes`,
  )
  if (!ok) process.exitCode = 1
}

/** Serves until SIGTERM or SIGINT; then answers what has begun. A second signal ends the process at once. */
async function serveDirectory(command: Extract<Command, { kind: 'serve' }>): Promise<void> {
  const namespace = await connect(command.directory)
  const server = await serve(namespace, command).catch(async cause => {
    await namespace.close()
    throw cause
  })
  const stop = async () => {
    await server.close()
    await namespace.close()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop().catch(fail))
  console.log(`listening on ${server.url}`)
}

/** The program runs from `dist/lib/`. */
function packageVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

function fail(cause: unknown): void {
  if (cause instanceof SheafError) {
    console.error(`sheaf: ${cause.message}${cause.hint === undefined ? '' : ` (${cause.hint})`}`)
  } else console.error(cause)
  process.exitCode = 1
}

await run(readArguments(process.argv.slice(2))).catch(fail)
