/** Parses the command line and the environment variables into a command. */
import { parseArgs } from 'node:util'
import { nearestName, quote } from '../../src/errors.js'
import { isLogUrl } from '../postgres/log-url.js'
import {
  type CommandName,
  type CommandSpec,
  commands,
  isCommand,
  type OptionSpec,
  valueNames,
  variableOf,
} from './commands.js'
import { type FormatName, formatNames } from './format-names.js'
import { Misuse } from './misuse.js'
import { readSize, readTime } from './quantities.js'
import { splitList } from './split-list.js'

/** The name of a caller, and the secret with which the caller authenticates. */
export type NamedSecret = readonly [name: string, secret: string]

/** The name of a caller, and the databases that the key or token of the caller may use. */
export type Grant = readonly [name: string, databases: readonly string[]]

/** The TypeScript type of the value of an option, for each option type. */
interface ValueTypes {
  flag: boolean
  port: number
  count: number
  threads: number
  address: string
  path: string
  directory: string
  text: string
  texts: readonly string[]
  secrets: readonly NamedSecret[]
  grants: readonly Grant[]
  size: number
  time: number
  log: 'json' | 'text' | 'none'
  logUrl: string
  logTarget: string
  maintenance: 'here' | 'elsewhere'
  secret: string
  whole: number
  list: readonly string[]
  vectors: Readonly<Record<string, string>>
  columnTypes: Readonly<Record<string, string>>
  delimiter: string
  importMode: 'create' | 'append' | 'upsert'
  badRows: 'fail' | 'skip'
  answerFormat: 'table' | 'json' | 'csv' | 'arrow' | 'parquet'
  diffFormat: 'text' | 'json'
  sourceFormat: FormatName
  fileFormat: 'csv' | 'jsonl' | 'arrow' | 'parquet' | 'lance'
}

/**
 * For each option type: a description of the allowed values, and the parser, which returns null for an invalid text.
 */
const types: {
  readonly [T in keyof ValueTypes]: readonly [what: string, (text: string) => ValueTypes[T] | null]
} = {
  flag: ['true or false', text => (text === 'true' || text === 'false' ? text === 'true' : null)],
  port: ['an integer from 0 to 65535', text => integer(text, 0, 65_535)],
  count: ['an integer > 0', text => integer(text, 1, Number.MAX_SAFE_INTEGER)],
  threads: ['an integer from 1 to 64', text => integer(text, 1, 64)],
  address: ['an address', textOrNull],
  path: ['a path', textOrNull],
  directory: ['a path', textOrNull],
  text: ['a text that is not empty', textOrNull],
  texts: ['texts, separated by commas', text => filled(text.split(',').map(part => part.trim()))],
  secrets: ['name=secret, separated by commas', text => secrets(text.split(','))],
  grants: ['name=database, with more databases after commas', text => grants(text.split(','))],
  size: ['a size, like 512MiB', text => readSize(text)],
  time: ['a time with a unit, like 30s or 7d, or forever', text => readTime(text)],
  log: [
    'json, text or none',
    text => (['json', 'text', 'none'] as const).find(kind => kind === text) ?? null,
  ],
  logUrl: ['a URL like postgres://user@host/database?root=main', text => (isLogUrl(text) ? text : null)],
  logTarget: [
    'files, or a URL like postgres://user@host/database?root=main',
    text => (text === 'files' || isLogUrl(text) ? text : null),
  ],
  maintenance: [
    'here or elsewhere',
    text => (['here', 'elsewhere'] as const).find(place => place === text) ?? null,
  ],
  secret: ['a text that is not empty', textOrNull],
  whole: ['an integer >= 0', text => integer(text, 0, Number.MAX_SAFE_INTEGER)],
  list: ['texts, separated by commas', text => filled(splitList(text))],
  vectors: ['column:dimension, such as embedding:768', vectorTypes],
  columnTypes: ['column:type, such as zip:string', columnTypes],
  delimiter: ['one character, or tab', text => (text === 'tab' ? '\t' : text.length === 1 ? text : null)],
  importMode: oneOf('create', 'append', 'upsert'),
  badRows: oneOf('fail', 'skip'),
  answerFormat: oneOf('table', 'json', 'csv', 'arrow', 'parquet'),
  diffFormat: oneOf('text', 'json'),
  sourceFormat: oneOf(...formatNames),
  fileFormat: oneOf('csv', 'jsonl', 'arrow', 'parquet', 'lance'),
}

/** Return the description and the parser of a type whose values are one of some words. */
function oneOf<W extends string>(
  ...words: readonly W[]
): readonly [what: string, (text: string) => W | null] {
  const what = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
  return [what, text => words.find(word => word === text) ?? null]
}

/** Types of options whose values may have a secret, so that messages do not show them. */
const secretTypes: ReadonlySet<keyof ValueTypes> = new Set(['secrets', 'logUrl', 'logTarget', 'secret'])

/** Types of options that may be repeated: their values are joined. */
const repeatable: ReadonlySet<keyof ValueTypes> = new Set([
  'texts',
  'secrets',
  'grants',
  'list',
  'vectors',
  'columnTypes',
])

type Options<C extends CommandName> = (typeof commands)[C]['options']

type Camel<S> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S

/**
 * The parsed options of a command, by name in camel case. An option is absent if it was not given and has no default.
 */
type Values<C extends CommandName> = {
  readonly [N in keyof Options<C> as Camel<N>]?: Options<C>[N] extends {
    type: infer T extends keyof ValueTypes
  }
    ? ValueTypes[T]
    : never
}

/** The values of the operands that a usage text names. */
type Operands<S> = S extends `${infer First} ${infer Rest}`
  ? Operands<First> & Operands<Rest>
  : S extends `<${infer N}>...`
    ? { readonly [K in N]: readonly string[] }
    : S extends `<${infer N}>`
      ? { readonly [K in N]: string }
      : S extends `[${infer N}]`
        ? { readonly [K in N]?: string }
        : unknown

/** A command to run. */
export type Call<C extends CommandName> = { readonly kind: C } & Operands<(typeof commands)[C]['operands']> &
  Values<C>

export type Command =
  | { readonly [C in CommandName]: Call<C> }[CommandName]
  /** Show the help for one command, or for the whole program if `command` is absent. */
  | { readonly kind: 'help'; readonly command?: CommandName }
  | { readonly kind: 'version' }
  /** Invalid arguments. `problem`: a sentence that says what is wrong. */
  | { readonly kind: 'misuse'; readonly problem: string }

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Parse the command. An option on the command line takes precedence over its environment variable. Variables for
 * options of other commands are ignored.
 */
export function readArguments(args: readonly string[], environment: Environment = {}): Command {
  try {
    return commandOf(args, environment)
  } catch (cause) {
    const isParseError = (cause as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS_')
    if (!(cause instanceof Misuse) && !isParseError) throw cause
    return { kind: 'misuse', problem: (cause as Error).message }
  }
}

function commandOf(args: readonly string[], environment: Environment): Command {
  const { values, positionals } = parse(args)
  const [command, ...operands] = positionals
  if (values.version === true) return { kind: 'version' }
  if (values.help === true || command === 'help') {
    const about = command === 'help' ? operands[0] : command
    if (command === 'help' && about !== undefined && !isCommand(about)) {
      throw new Misuse(`unknown command ${quote(about)}${meant(about)}`)
    }
    return { kind: 'help', ...(about !== undefined && isCommand(about) && { command: about }) }
  }
  if (command === undefined) throw new Misuse('a command is missing')
  if (!isCommand(command)) throw new Misuse(`unknown command ${quote(command)}${meant(command)}`)
  const options = optionsOf(command, values, environment)
  // Safe cast: `optionValue` and `operandsOf` gave each value the type that `commands` declares.
  return { kind: command, ...operandsOf(command, operands), ...options } as Command
}

/** Assign the operands of a command to their names. */
function operandsOf(command: CommandName, given: readonly string[]): Record<string, unknown> {
  const names = commands[command].operands.split(' ')
  const values: Record<string, unknown> = {}
  const rest = [...given]
  for (const [i, text] of names.entries()) {
    const [, isNeeded, name, isMany] = /^(<?)\[?(\w+)[>\]](\.\.\.)?$/.exec(text)!
    // Many operands of one name leave one operand for each name after it.
    const taken = rest.splice(0, isMany === undefined ? 1 : Math.max(1, rest.length - (names.length - 1 - i)))
    if (taken.length === 0 && isNeeded !== '') {
      throw new Misuse(`${command} needs <${name}>`)
    }
    if (taken.length > 0) values[name!] = isMany === undefined ? taken[0] : taken
  }
  if (rest.length > 0) throw new Misuse(`unexpected argument ${quote(rest[0])}`)
  return values
}

/** Return a question that names the most similar command; an empty text if there is none. */
function meant(command: string): string {
  const near = nearestName(command, Object.keys(commands))
  return near === undefined ? '' : `: did you mean ${near}?`
}

type Parsed = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

/** Parse the options of all commands together, so that an error can name an option that the command does not take. */
function parse(args: readonly string[]): {
  readonly values: Parsed
  readonly positionals: readonly string[]
} {
  const options: Record<string, { type: 'string' | 'boolean'; multiple: boolean }> = {
    help: { type: 'boolean', multiple: false },
    version: { type: 'boolean', multiple: false },
  }
  const named = args.find(isCommand)
  for (const command of Object.values<CommandSpec>(commands)) {
    for (const [name, { type }] of Object.entries(command.options)) {
      const isFlag = valueNames[type] === null
      // Without a command that has the option, --version asks for the version of the program.
      if (name === 'version' && !(named !== undefined && Object.hasOwn(commands[named].options, name)))
        continue
      options[name] = {
        type: isFlag ? 'boolean' : 'string',
        multiple: repeatable.has(type),
      }
      if (isFlag) options[`no-${name}`] = { type: 'boolean', multiple: false }
    }
  }
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (cause) {
    const unknown = unknownOption(cause as Error)
    if (unknown === undefined) throw cause
    const near = nearestName(unknown.replace(/^-+|=.*$/g, ''), Object.keys(options))
    const help = near === undefined ? 'help lists the options' : `did you mean --${near}?`
    throw new Misuse(`unknown option ${quote(unknown)}: ${help}`)
  }
}

/** Return the unknown option as it was typed, or undefined for another error. */
function unknownOption({ code, message }: NodeJS.ErrnoException): string | undefined {
  return code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? /'(-[^']*)'/.exec(message)?.[1] : undefined
}

function optionsOf(command: CommandName, given: Parsed, environment: Environment): Record<string, unknown> {
  const { options }: CommandSpec = commands[command]
  const stray = Object.keys(given).filter(name => !Object.hasOwn(options, name.replace(/^no-/, '')))
  if (stray.length > 0) {
    throw new Misuse(`${command} does not take ${stray.map(name => `--${name}`).join(' and ')}`)
  }
  const values: Record<string, unknown> = {}
  for (const [name, spec] of Object.entries(options)) {
    const value = optionValue(name, spec, given, environment) ?? spec.default
    if (value !== undefined) values[camel(name)] = value
  }
  return values
}

/**
 * Return the value of an option from the command line, or else from its environment variable; undefined if neither is
 * set.
 */
function optionValue(name: string, spec: OptionSpec, given: Parsed, environment: Environment): unknown {
  if (spec.type === 'flag') {
    if (given[name] === true && given[`no-${name}`] === true) {
      throw new Misuse(`--${name} and --no-${name} exclude each other`)
    }
    if (given[name] === true) return true
    if (given[`no-${name}`] === true) return false
  } else if (given[name] !== undefined) {
    return read(`--${name}`, spec, [given[name]].flat().join(','))
  }
  const variable = variableOf(name)
  const text = environment[variable]
  // An empty variable counts as not set, because many programs set a variable to an empty text instead of unsetting it.
  return text === undefined || text === '' ? undefined : read(variable, spec, text)
}

function read(where: string, { type, positive = false }: OptionSpec, text: string): unknown {
  const [what, reader] = types[type]
  const value = reader(text)
  if (value !== null && !(positive && value === 0)) return value
  const got = secretTypes.has(type) || isLogUrl(text) ? '' : `, got ${quote(text)}`
  // `serve` has both options.
  const other = type === 'log' && isLogUrl(text) ? ': use --commit-log for the commit log' : ''
  throw new Misuse(`${where} must be ${what}${positive ? ', not 0' : ''}${got}${other}`)
}

/** Parse texts like `name=secret`. Returns null if a text is invalid. A secret may contain `=`. */
export function secrets(lines: readonly string[]): readonly NamedSecret[] | null {
  const pairs = lines.map(line => /^\s*([^=]*[^=\s])\s*=\s*(.*\S)\s*$/.exec(line))
  return pairs.includes(null) ? null : pairs.map(pair => [pair![1]!, pair![2]!])
}

/**
 * Parse grants, for example `a=x`, `y`, `b=z`. A text without `=` is one more database for the name before it. Returns
 * null if a text is invalid.
 */
function grants(texts: readonly string[]): readonly Grant[] | null {
  const found: [name: string, databases: string[]][] = []
  for (const text of texts) {
    const [, name, database] = /^\s*(?:([^=]*[^=\s])\s*=)?\s*([^=\s](?:[^=]*[^=\s])?)\s*$/.exec(text) ?? []
    if (database === undefined) return null
    if (name !== undefined) found.push([name, []])
    const last = found.at(-1)
    if (last === undefined) return null
    last[1].push(database)
  }
  return found
}

/** Parse the dimensions of vector columns, for example `embedding:768`. Returns the types of the columns, or null. */
function vectorTypes(text: string): Readonly<Record<string, string>> | null {
  const pairs = text.split(',').map(part => /^\s*(.*\S)\s*:\s*([1-9]\d{0,5})\s*$/.exec(part))
  return pairs.includes(null)
    ? null
    : Object.fromEntries(pairs.map(pair => [pair![1]!, `vector(${pair![2]!})`]))
}

/** Parse types of columns, for example `zip:string,price:decimal(10, 2)`. Returns null if a text is invalid. */
function columnTypes(text: string): Readonly<Record<string, string>> | null {
  const pairs = splitList(text).map(part => /^(.*\S)\s*:\s*([^:]*\S)$/.exec(part))
  return pairs.includes(null) ? null : Object.fromEntries(pairs.map(pair => [pair![1]!, pair![2]!]))
}

function integer(text: string, least: number, most: number): number | null {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return value >= least && value <= most ? value : null
}

function textOrNull(text: string): string | null {
  return text.trim() === '' ? null : text
}

function filled(texts: readonly string[]): readonly string[] | null {
  return texts.includes('') ? null : texts
}

function camel(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
