/** Usage texts, made of the table of commands. */
import {
  type CommandName,
  type CommandSpec,
  commands,
  type OptionSpec,
  valueNames,
  variableOf,
} from './commands.js'

/** A column of help begins here. */
const indent = 2

/** Of one command: everything about it. */
export function usageOf(name: CommandName): string {
  const { operands, does, more, options }: CommandSpec = commands[name]
  const rows = Object.entries(options).map(([option, spec]) => [flagOf(option, spec), spec.help] as const)
  const first = Object.keys(options)[0]!
  const types = new Set(Object.values(options).map(({ type }) => type))
  return paragraphs([
    `Usage: sheaf ${name} ${operands} [options]`,
    does,
    table(rows),
    more,
    [
      `Options may also be given in the environment, --${first} as ${variableOf(first)}; the command line comes first.`,
      types.has('flag') ? 'There flags are true or false. --no-<flag> turns one off.' : '',
    ]
      .filter(line => line !== '')
      .join('\n'),
    [
      types.has('size') ? 'Sizes are bytes, or have a unit: 64kB, 512MiB, 1.5GB.' : '',
      types.has('time') ? 'Times have a unit: 500ms, 30s, 5min, 12h, 7d; or are forever.' : '',
    ]
      .filter(line => line !== '')
      .join('\n'),
  ])
}

/** Of the whole program. */
export const usage = paragraphs([
  names()
    .map((name, i) => `${i === 0 ? 'Usage:' : '      '} sheaf ${name} ${synopsis(commands[name])}`)
    .join('\n'),
  names()
    .map(name => `${name}: ${commands[name].does}`)
    .join('\n'),
  table([
    ['--help', 'show this text; after a command, or as sheaf help <command>, all about that'],
    ['--version', 'show the version'],
  ]),
])

function names(): readonly CommandName[] {
  return Object.keys(commands) as CommandName[]
}

/** Operands and options, the first few. */
function synopsis({ operands, options }: CommandSpec): string {
  const all = Object.entries(options).map(([option, spec]) => `[${flagOf(option, spec)}]`)
  const shown = all.length > 3 ? [...all.slice(0, 2), '...'] : all
  return [operands, ...shown].join(' ')
}

function flagOf(option: string, { type }: OptionSpec): string {
  const value = valueNames[type]
  return value === null ? `--${option}` : `--${option} ${value}`
}

function table(rows: readonly (readonly [left: string, right: string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `${' '.repeat(indent)}${left.padEnd(width)}  ${right}`).join('\n')
}

function paragraphs(parts: readonly string[]): string {
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}
