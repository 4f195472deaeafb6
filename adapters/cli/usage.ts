/** Builds the usage texts from the table of commands. */
import {
  type CommandName,
  type CommandSpec,
  commands,
  type OptionSpec,
  valueNames,
  variableOf,
} from './commands.js'

/** Number of spaces before an option. */
const indent = 2

/** Return the line that shows the operands of a command, and a line that says how to get its options. */
export function usageLineOf(name: CommandName): string {
  return `Usage: sheaf ${name} ${commands[name].operands} [options]\n\nsheaf ${name} --help lists the options.\n`
}

/** Return the usage text of one command, with all its options. */
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
      `Options may also be set in the environment, --${first} as ${variableOf(first)}. The command line takes precedence.`,
      types.has('flag') ? 'In the environment, flags are true or false. --no-<flag> turns a flag off.' : '',
    ]
      .filter(line => line !== '')
      .join('\n'),
    [
      types.has('size') ? 'Sizes are in bytes, or have a unit: 64kB, 512MiB, 1.5GB.' : '',
      types.has('time') ? 'Times need a unit: 500ms, 30s, 5min, 12h, 7d; or are forever.' : '',
    ]
      .filter(line => line !== '')
      .join('\n'),
  ])
}

/** The usage text of the whole program. */
export const usage = paragraphs([
  names()
    .map((name, i) => `${i === 0 ? 'Usage:' : '      '} sheaf ${name} ${synopsis(commands[name])}`)
    .join('\n'),
  names()
    .map(name => `${name}: ${commands[name].does}`)
    .join('\n'),
  table([
    ['--help', 'show this text; with a command, the help of that command'],
    ['--version', 'show the version'],
  ]),
])

function names(): readonly CommandName[] {
  return Object.keys(commands) as CommandName[]
}

/** Return the operands and options of a command. If it has more than three options, only the first two are shown. */
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
