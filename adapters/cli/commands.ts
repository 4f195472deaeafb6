/** The commands and options of the program as data. Parsing, usage texts and their documentation are derived from this table. */

export const commands = {
  serve: {
    operands: '<directory>',
    does: 'Serves the namespace in <directory> over HTTP, and creates it if it does not exist.',
    more: `SIGTERM or SIGINT stops the server: it accepts no more requests, and answers those that have begun. A second signal ends it at once.
The address is printed on standard output. Requests are logged on standard error.
Every user of the machine can read secrets on a command line: give them in a file or a variable.`,
    options: {
      port: { type: 'port', help: 'port to listen on, 0 for any free one (default 2333)' },
      host: { type: 'address', help: 'address to listen on (default 127.0.0.1)' },
      'base-path': { type: 'text', help: 'path before /v1 (default none)' },
      databases: {
        type: 'flag',
        help: 'every directory below <directory> is a database; a client names one in x-lancedb-database',
      },
      'create-databases': {
        type: 'flag',
        help: 'with --databases: create a database that a request names if it does not exist',
      },
      'default-database': { type: 'text', help: 'with --databases: the database of requests that name none' },
      'allow-anonymous': {
        type: 'flag',
        help: 'listen on an address that other machines reach without authentication',
      },
      'allow-host': {
        type: 'texts',
        help: 'more host names to answer to; without authentication, other names are refused (default localhost and the address)',
      },
      'allow-origin': {
        type: 'texts',
        help: 'origins of web pages that may call, as https://app.example (default none)',
      },
      'api-keys': { type: 'secrets', help: 'secrets accepted in x-api-key; may be repeated' },
      'api-keys-file': { type: 'path', help: 'the same from a file, one name=secret a line, or JSON' },
      tokens: { type: 'secrets', help: 'secrets accepted in Authorization: Bearer; may be repeated' },
      'tokens-file': { type: 'path', help: 'the same from a file, one name=secret a line, or JSON' },
      grant: {
        type: 'grants',
        help: 'with --databases: databases that the key or token of a name opens, * for all; may be repeated',
      },
      'jwks-url': {
        type: 'text',
        help: 'URL of the public keys of JSON Web Tokens, which are accepted in Authorization: Bearer',
      },
      'jwt-issuer': { type: 'text', help: 'with --jwks-url: required issuer (iss) of a token (default any)' },
      'jwt-audience': {
        type: 'text',
        help: 'with --jwks-url: required audience (aud) of a token (default any)',
      },
      'jwt-databases-claim': {
        type: 'text',
        help: 'with --jwks-url and --databases: claim with the databases that a token opens (default none)',
      },
      'max-body': {
        type: 'size',
        positive: true,
        help: 'largest request body (default 16GiB; JSON at most 16MiB)',
      },
      'max-message': {
        type: 'size',
        positive: true,
        help: 'largest message of an Arrow body (default 1GiB)',
      },
      'max-uploads': {
        type: 'size',
        positive: true,
        help: 'memory for decoding all uploads together (default 1GiB)',
      },
      'max-open-uploads': {
        type: 'count',
        help: 'open uploads in parts per caller (default 1000)',
      },
      'max-open-upload-bytes': {
        type: 'size',
        positive: true,
        help: 'size of the open uploads in parts per caller (default 1TiB)',
      },
      'max-open-upload-age': {
        type: 'time',
        positive: true,
        help: 'how long the server takes parts for one upload (default 24h)',
      },
      'max-connections': { type: 'count', help: 'open connections (default 10000)' },
      'max-in-flight': { type: 'count', help: 'calls in progress (default 1024)' },
      'max-in-flight-per-caller': {
        type: 'count',
        help: 'calls in progress per caller (default no limit of its own)',
      },
      'max-streams': { type: 'count', help: 'open streams of changes (default 256)' },
      'request-timeout': { type: 'time', positive: true, help: 'longest time for a call (default forever)' },
      'pause-timeout': {
        type: 'time',
        positive: true,
        help: 'longest pause of a client in sending or reading (default 60s)',
      },
      'context-prefix': {
        type: 'texts',
        help: 'prefixes of header fields that are context (default x-sheaf-ctx-,x-ns-ctx-,x-lance-ctx-)',
      },
      'read-only': { type: 'flag', help: 'refuse every write, and write nothing' },
      workers: {
        type: 'threads',
        help: 'worker threads that read and search, 1 to 64; the first also writes (default: no workers, one thread)',
      },
      'cache-bytes': {
        type: 'size',
        help: 'size of the cache (default a quarter of the memory, at most 1GiB)',
      },
      'keep-versions': {
        type: 'time',
        help: 'how long versions are kept that are neither the newest nor tagged (default 7d)',
      },
      log: {
        type: 'log',
        help: 'format of the request log (default text on a terminal, else json)',
      },
    },
  },
  inspect: {
    operands: '<directory> [name]',
    does: 'Shows what is in <directory>: everything, or one table or namespace by name (ns1$t). Changes nothing.',
    more: `Other processes may have the directory open. Exits with 1 if a table cannot be read.`,
    options: {
      limit: { type: 'count', help: 'how many tables to show (default all)' },
      json: { type: 'flag', help: 'print one JSON document' },
    },
  },
  verify: {
    operands: '<directory>',
    does: 'Checks every byte of <directory>, and prints a line for each problem that is left. Exits with 1 if there are any.',
    more: '',
    options: {
      repair: {
        type: 'flag',
        default: false,
        help: 'rebuild damaged files that can be derived from the log',
      },
    },
  },
  compact: {
    operands: '<directory>',
    does: 'Runs all maintenance now, and reports what was done: compacts fragments, updates indexes, expires old versions.',
    more: `Other processes may have the directory open. SIGINT stops the command; what was done by then stays.
Files are deleted a day after the last reference to them is gone, so a later run deletes them.`,
    options: {
      'keep-versions': {
        type: 'time',
        help: 'how long versions are kept that are neither the newest nor tagged (default 7d)',
      },
    },
  },
} as const satisfies Readonly<Record<string, CommandSpec>>

/** How usage texts show the value of an option; null: the option has no value. */
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
  /** The default; absent: the code that uses the option has one, or none. */
  readonly default?: boolean
  /** Whether 0 is refused. */
  readonly positive?: boolean
  /** One line. */
  readonly help: string
}

export interface CommandSpec {
  readonly operands: string
  /** One or two sentences. */
  readonly does: string
  /** Further text, after the options. */
  readonly more: string
  /** By name on the command line, without dashes. */
  readonly options: Readonly<Record<string, OptionSpec>>
}

export type CommandName = keyof typeof commands

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commands, name)
}

/** Return the environment variable of an option: `max-body` is `SHEAF_MAX_BODY`. */
export function variableOf(option: string): string {
  return `SHEAF_${option.replaceAll('-', '_').toUpperCase()}`
}
