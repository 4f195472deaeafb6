/**
 * The commands and options of the program, as data. The parser, the usage texts and the tests of docs/cli.md use this
 * table.
 */

import { dataCommands } from './data-commands.js'
import { formatNames } from './format-names.js'
import { commitLog, serveOptions, viewCommand } from './serve-options.js'

export const commands = {
  serve: {
    operands: '<directory>',
    does: 'Serves the namespace in <directory> over HTTP, and creates it if it does not exist.',
    more: `SIGTERM, SIGINT or SIGHUP (on Windows: Ctrl+C, Ctrl+Break, or closing the window) stops the server: after the time
of --drain it accepts no more requests, and answers the requests that have begun. A second signal ends it at once.
The address is printed on standard output. Requests are logged on standard error.
Every user of the machine can read secrets on a command line, so pass them in a file or a variable.`,
    options: serveOptions,
  },
  view: viewCommand,
  inspect: {
    operands: '<directory> [name]',
    does: 'Shows what is in <directory>: everything, or one table or namespace by name (ns1$t). Changes nothing.',
    more: `Other processes may have the directory open. Exits with 1 if a table cannot be read.`,
    options: {
      limit: { type: 'count', help: 'maximum number of tables to show (default all)' },
      json: { type: 'flag', help: 'print one JSON document' },
      'commit-log': commitLog,
    },
  },
  verify: {
    operands: '<directory>',
    does: 'Checks every byte of <directory>, and prints one line for each problem that remains. Exits with 1 if there is one.',
    more: '',
    options: {
      repair: {
        type: 'flag',
        default: false,
        help: 'rebuild damaged files that can be derived from the log',
      },
      'commit-log': commitLog,
    },
  },
  compact: {
    operands: '<directory>',
    does: 'Runs all maintenance now, and reports what was done: compacts fragments, updates indexes, expires old versions.',
    more: `Other processes may have the directory open. SIGINT stops the command; completed work is kept.
Files are deleted a day after the last reference to them is gone, so a later run deletes them.`,
    options: {
      'keep-versions': {
        type: 'time',
        help: 'time for which old versions without a tag are kept (default 7d)',
      },
      'commit-log': commitLog,
    },
  },
  'move-log': {
    operands: '<directory>',
    does: 'Moves the commit log of <directory> from its files to PostgreSQL, back, or to another log. Tables stay as they are.',
    more: `The URL of a log is a connection string with the place of the log: postgres://user@host/database?root=main. Further parameters
are schema and table. PGPASSWORD has the password.
Programs that have the old log open fail with the name of the new log: start them again with the new log. No commit is lost.
If the command is stopped or fails, run it again: it completes the move.`,
    options: {
      to: { type: 'logTarget', help: 'URL of the new log, or files' },
      from: { type: 'logUrl', help: 'URL of the log until now (default: the log is in the files)' },
    },
  },
  work: {
    operands: '<directory>',
    does: 'Works on <directory> for other processes until a signal: builds indexes, fills columns, refreshes views, and runs maintenance.',
    more: `Any number of workers may work on a root. Their claims are in the log of the root, so no two of them do the same work.
If a worker dies, another process continues its jobs. SIGTERM, SIGINT or SIGHUP stops the worker, and its jobs are queued again.
With --job, the command runs one job and ends. If another process runs the job, it runs units of the job that no process has begun.
Exit codes with --job: 0 the job has succeeded; 1 it has failed or was canceled; 3 another process runs it.`,
    options: {
      'commit-log': commitLog,
      job: { type: 'text', help: 'id of the only job to run (default: all jobs and all maintenance)' },
      jobs: { type: 'threads', help: 'jobs that run at the same time, 1 to 64 (default 1)' },
      'segment-rows': {
        type: 'count',
        help: 'rows from which an index build is split into units for several workers (default 1000000)',
      },
      'cache-bytes': {
        type: 'size',
        help: 'size of the cache (default a quarter of the memory, at most 1GiB)',
      },
      'keep-versions': {
        type: 'time',
        help: 'time for which old versions without a tag are kept (default 7d)',
      },
    },
  },
  doctor: {
    operands: '<directory>',
    does: 'Checks whether <directory> can store a root: a bucket such as s3://bucket/prefix, or a local directory. Exits with 1 if not.',
    more: `The checks write about 2,400 objects in a new folder _check-<id> of <directory>, and delete them.
SIGINT stops the checks, and deletes the objects. A second SIGINT ends the command at once.
The environment has the credentials, as for every program with the client of the provider.`,
    options: {
      json: { type: 'flag', help: 'print one JSON document' },
    },
  },
  ...dataCommands,
} as const satisfies Readonly<Record<string, CommandSpec>>

/** The placeholder for the value of an option in usage texts, by option type. Null: the option takes no value. */
export const valueNames = {
  flag: null,
  port: '<number>',
  count: '<number>',
  threads: '<number>',
  address: '<address>',
  path: '<file>',
  directory: '<directory>',
  text: '<text>',
  texts: '<text>[,...]',
  secrets: '<name=secret>[,...]',
  grants: '<name=database>[,...]',
  size: '<size>',
  time: '<time>',
  log: 'json|text|none',
  logUrl: '<url>',
  logTarget: '<url>|files',
  maintenance: 'here|elsewhere',
  secret: '<secret>',
  whole: '<number>',
  list: '<text>[,...]',
  vectors: '<column:dimension>[,...]',
  columnTypes: '<column:type>[,...]',
  delimiter: '<character>',
  importMode: 'create|append|upsert',
  badRows: 'fail|skip',
  answerFormat: 'table|json|csv|arrow|parquet',
  diffFormat: 'text|json',
  sourceFormat: formatNames.join('|'),
  fileFormat: 'csv|jsonl|arrow|parquet|lance',
} as const

export interface OptionSpec {
  readonly type: keyof typeof valueNames
  /** The default value. Absent: the default, if there is one, is in the code that uses the option. */
  readonly default?: boolean
  /** Whether 0 is refused. */
  readonly positive?: boolean
  /** The description in usage texts, one line. */
  readonly help: string
}

export interface CommandSpec {
  /** `<name>`: needed; `<name>...`: one or more; `[name]`: may be missing. */
  readonly operands: string
  /** Description of the command in the usage, one or two sentences. */
  readonly does: string
  /** Text that the usage shows after the options. */
  readonly more: string
  /** Options by their name on the command line, without dashes. */
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
