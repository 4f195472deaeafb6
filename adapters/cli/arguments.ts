/** The command line, read into what it asks for. */
import { parseArgs } from 'node:util'

export const usage = `Usage: sheaf serve <directory> [--port <number>] [--host <address>]
       sheaf verify <directory> [--repair]

serve: serves the namespace in <directory> over HTTP, and creates it where it is not there yet.
verify: checks every byte of it, and prints a line for each problem that is left. Exits with 1 if there are any.

  --port <number>   port to listen on, 0 for any free one (default 2333)
  --host <address>  address to listen on (default 127.0.0.1)
  --repair          make again what is damaged and can be made of the log
  --help            show this text
  --version         show the version
`

export type Command =
  | { readonly kind: 'serve'; readonly directory: string; readonly port?: number; readonly host?: string }
  | { readonly kind: 'verify'; readonly directory: string; readonly repair: boolean }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** The arguments make no sense; `problem` is a sentence that says why. */
  | { readonly kind: 'misuse'; readonly problem: string }

export function readArguments(args: readonly string[]): Command {
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(args)
  } catch (cause) {
    return misuse(cause instanceof Error ? cause.message : String(cause))
  }
  const { values, positionals } = parsed
  if (values.help) return { kind: 'help' }
  if (values.version) return { kind: 'version' }
  const [command, directory, ...rest] = positionals
  if (command === undefined) return misuse('a command is missing')
  if (command !== 'serve' && command !== 'verify') {
    return misuse(`unknown command ${JSON.stringify(command)}`)
  }
  if (directory === undefined) return misuse(`${command} needs a directory`)
  if (rest.length > 0) return misuse(`unexpected argument ${JSON.stringify(rest[0])}`)
  const { port, host, repair = false } = values
  const stray =
    command === 'serve' ? repair && '--repair' : (port ?? host) !== undefined && '--port and --host'
  if (stray !== false) return misuse(`${command} does not take ${stray}`)
  if (command === 'verify') return { kind: 'verify', directory, repair }
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) {
    return misuse(`--port must be an integer from 0 to 65535, got ${JSON.stringify(port)}`)
  }
  return {
    kind: 'serve',
    directory,
    ...(port !== undefined && { port: Number(port) }),
    ...(host !== undefined && { host }),
  }
}

function misuse(problem: string): Command {
  return { kind: 'misuse', problem }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      port: { type: 'string' },
      host: { type: 'string' },
      repair: { type: 'boolean' },
      help: { type: 'boolean' },
      version: { type: 'boolean' },
    },
  })
}
