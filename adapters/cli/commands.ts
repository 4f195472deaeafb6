/** What the program can be told, as data: parsing, usage texts and their documentation all come from here. */

export const commands = {
  serve: {
    operands: '<directory>',
    does: 'Serves the namespace in <directory> over HTTP, and creates it where it is not there yet.',
    more: `Ends with SIGTERM or SIGINT: accepts no more requests, answers those that have begun. A second signal ends it at once.
Standard output has one line, the address; requests are logged on standard error.
Secrets on a command line are seen by everybody on the machine who lists processes: give them in a file or a variable.`,
    options: {
      port: { type: 'port', help: 'port to listen on, 0 for any free one (default 2333)' },
      host: { type: 'address', help: 'address to listen on (default 127.0.0.1)' },
      'base-path': { type: 'text', help: 'path before /v1 (default none)' },
      databases: {
        type: 'flag',
        help: 'every directory below <directory> is a database; a client names one in x-lancedb-database',
      },
      'create-databases': { type: 'flag', help: 'with --databases: create one that is named and not there' },
      'default-database': { type: 'text', help: 'with --databases: the one of clients that name none' },
      'allow-anonymous': {
        type: 'flag',
        help: 'listen for other machines although nobody is asked who they are',
      },
      'allow-host': {
        type: 'texts',
        help: 'more host names to answer to; others are refused where nobody is asked who they are (default localhost and the address)',
      },
      'allow-origin': {
        type: 'texts',
        help: 'origins of web pages that may call, as https://app.example (default none)',
      },
      'api-keys': { type: 'secrets', help: 'accepted in x-api-key; may be repeated' },
      'api-keys-file': { type: 'path', help: 'the same from a file, one name=secret a line, or JSON' },
      tokens: { type: 'secrets', help: 'accepted in Authorization: Bearer; may be repeated' },
      'tokens-file': { type: 'path', help: 'the same from a file, one name=secret a line, or JSON' },
      grant: {
        type: 'grants',
        help: 'with --databases: those that the key or token of a name opens, * for all; may be repeated',
      },
      'jwks-url': {
        type: 'text',
        help: 'where the public keys of JSON Web Tokens are; accepted in Authorization: Bearer',
      },
      'jwt-issuer': { type: 'text', help: 'with --jwks-url: who must have issued a token (default anybody)' },
      'jwt-audience': { type: 'text', help: 'with --jwks-url: whom a token must be for (default anybody)' },
      'jwt-databases-claim': {
        type: 'text',
        help: 'with --jwks-url and --databases: claim that has the databases a token opens (default none)',
      },
      'max-body': {
        type: 'size',
        positive: true,
        help: 'bytes of a request body at most (default 16GiB; JSON 16MiB)',
      },
      'max-message': {
        type: 'size',
        positive: true,
        help: 'bytes of one message of an Arrow body at most (default 1GiB)',
      },
      'max-uploads': {
        type: 'size',
        positive: true,
        help: 'bytes of all uploads together while they are decoded (default 1GiB)',
      },
      'max-open-uploads': {
        type: 'count',
        help: 'uploads in parts that a caller has open at most (default 1000)',
      },
      'max-open-upload-bytes': {
        type: 'size',
        positive: true,
        help: 'bytes of the uploads in parts that a caller has open (default 1TiB)',
      },
      'max-open-upload-age': {
        type: 'time',
        positive: true,
        help: 'how long the server takes parts for one upload (default 24h)',
      },
      'max-connections': { type: 'count', help: 'connections at a time at most (default 10000)' },
      'max-in-flight': { type: 'count', help: 'calls at a time at most (default 1024)' },
      'max-in-flight-per-caller': {
        type: 'count',
        help: 'calls of one caller at a time at most (default as many as of all)',
      },
      'request-timeout': { type: 'time', positive: true, help: 'time for a call at most (default forever)' },
      'pause-timeout': {
        type: 'time',
        positive: true,
        help: 'longest pause of a client in sending or reading (default 60s)',
      },
      'context-prefix': {
        type: 'texts',
        help: 'what header fields that are context begin with (default x-sheaf-ctx-,x-ns-ctx-,x-lance-ctx-)',
      },
      'read-only': { type: 'flag', help: 'refuse every write, and write nothing' },
      workers: {
        type: 'threads',
        help: 'threads that read and search, 1 to 64, the first of which also writes (default none: all is done in one thread)',
      },
      'cache-bytes': {
        type: 'size',
        help: 'memory for what was read (default a quarter of it all, 1GiB at most)',
      },
      'keep-versions': {
        type: 'time',
        help: 'how long versions stay that are neither newest nor tagged (default 7d)',
      },
      log: {
        type: 'log',
        help: 'a line for each request (default text on a terminal, else json)',
      },
    },
  },
  inspect: {
    operands: '<directory> [name]',
    does: 'Tells what is in <directory>: all of it, or what a table or namespace holds (ns1$t). Changes nothing.',
    more: `Others may have it open. Exits with 1 where a table cannot be read.`,
    options: {
      limit: { type: 'count', help: 'tables to tell of at most (default all)' },
      json: { type: 'flag', help: 'print one JSON document' },
    },
  },
  verify: {
    operands: '<directory>',
    does: 'Checks every byte of it, and prints a line for each problem that is left. Exits with 1 if there are any.',
    more: '',
    options: {
      repair: {
        type: 'flag',
        default: false,
        help: 'make again what is damaged and can be made of the log',
      },
    },
  },
  compact: {
    operands: '<directory>',
    does: 'Does now all maintenance there is to do, and tells what was done: few large fragments, indexes with all rows, no old versions.',
    more: `Others may have it open. SIGINT stops it; what was done by then stays. Files go a day after nothing refers to them
any more, so it is a later run that finds them.`,
    options: {
      'keep-versions': {
        type: 'time',
        help: 'how long versions stay that are neither newest nor tagged (default 7d)',
      },
    },
  },
} as const satisfies Readonly<Record<string, CommandSpec>>

/** What an option is given, as usage texts show it; null: nothing, it is there or not. */
export const valueNames = {
  flag: null,
  port: '<number>',
  count: '<number>',
  threads: '<number>',
  address: '<address>',
  path: '<file>',
  text: '<text>',
  texts: '<text>[,...]',
  secrets: '<name=secret>[,...]',
  grants: '<name=database>[,...]',
  size: '<size>',
  time: '<time>',
  log: 'json|text|none',
} as const

export interface OptionSpec {
  readonly type: keyof typeof valueNames
  /** When it is not given; absent: what it is for knows. */
  readonly default?: boolean
  /** Whether 0 is refused. */
  readonly positive?: boolean
  /** One line. */
  readonly help: string
}

export interface CommandSpec {
  readonly operands: string
  /** One sentence or two. */
  readonly does: string
  /** What else there is to know. */
  readonly more: string
  /** By name as on a command line, without dashes. */
  readonly options: Readonly<Record<string, OptionSpec>>
}

export type CommandName = keyof typeof commands

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commands, name)
}

/** The environment variable of an option: `max-body` is `SHEAF_MAX_BODY`. */
export function variableOf(option: string): string {
  return `SHEAF_${option.replaceAll('-', '_').toUpperCase()}`
}
