import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readArguments } from '../../../adapters/cli/arguments.js'
import { type CommandName, commands } from '../../../adapters/cli/commands.js'
import { usage, usageOf } from '../../../adapters/cli/usage.js'

describe('readArguments', () => {
  test('serve takes a directory, a port and an address, in any order', () => {
    expect(readArguments(['serve', 'data'])).toEqual({ kind: 'serve', directory: 'data' })
    const all = { kind: 'serve', directory: './data', port: 0, host: '::1' }
    expect(readArguments(['serve', './data', '--port', '0', '--host', '::1'])).toEqual(all)
    expect(readArguments(['--host=::1', '--port=0', 'serve', './data'])).toEqual(all)
    expect(readArguments(['serve', '--', '--odd'])).toEqual({ kind: 'serve', directory: '--odd' })
  })

  test('verify takes a directory, and whether to repair', () => {
    expect(readArguments(['verify', 'data'])).toEqual({ kind: 'verify', directory: 'data', repair: false })
    expect(readArguments(['verify', '--repair', 'data'])).toMatchObject({ repair: true })
  })

  test('a log is named by its URL, which no message shows', () => {
    const url = 'postgres://me:secret@a/b?root=c'
    expect(readArguments(['move-log', 'data', '--to', url])).toEqual({
      kind: 'move-log',
      directory: 'data',
      to: url,
    })
    expect(readArguments(['move-log', 'data', '--to', 'files', '--from', url])).toMatchObject({ to: 'files' })
    expect(readArguments(['verify', 'data'], { SHEAF_COMMIT_LOG: url })).toMatchObject({ commitLog: url })
    const problemOf = (args: readonly string[]) => {
      const command = readArguments(args)
      return command.kind === 'misuse' ? command.problem : ''
    }
    expect(problemOf(['serve', 'data', '--log', url])).toMatch(/use --commit-log for the commit log/)
    expect(problemOf(['verify', 'data', '--commit-log', 'mysql://me:secret@a'])).toMatch(
      /must be a URL like postgres/,
    )
    expect(problemOf(['movelog', 'data'])).toMatch(/did you mean move-log\?/)
    for (const args of [
      ['serve', 'data', '--log', url],
      ['verify', 'data', '--commit-log', 'mysql://me:secret@a'],
    ])
      expect(problemOf(args)).not.toContain('secret')
  })

  test('import takes several sources, and the last operand is the root', () => {
    expect(
      readArguments(['import', 'a.csv', 'b.csv', 'data', '--types', 'zip:string,n:decimal(10, 2)']),
    ).toEqual({
      kind: 'import',
      source: ['a.csv', 'b.csv'],
      directory: 'data',
      types: { zip: 'string', n: 'decimal(10, 2)' },
    })
    expect(readArguments(['import', 'a', 'r', '--vector', 'v:3', '--vector', 'w:4'])).toMatchObject({
      vector: { v: 'vector(3)', w: 'vector(4)' },
    })
    expect(readArguments(['export', 'r', 't', 'f.tsv', '--delimiter', 'tab'])).toMatchObject({
      delimiter: '\t',
    })
  })

  test('--version is the version of a table for commands that read a table', () => {
    expect(readArguments(['query', 'data', 't', '--version', '3'])).toEqual({
      kind: 'query',
      directory: 'data',
      table: 't',
      version: 3,
    })
    expect(readArguments(['serve', '--version'])).toEqual({ kind: 'version' })
  })

  test('a list is split at commas that are outside of quotes and parentheses', () => {
    expect(readArguments(['query', 'r', 't', '--select', 'a, coalesce(b, 0) AS b,"c,d"'])).toMatchObject({
      select: ['a', 'coalesce(b, 0) AS b', '"c,d"'],
    })
  })

  test('no message shows a secret', () => {
    const result = readArguments(['query', 'r', 't', '--token', ' '])
    expect(result).toEqual({ kind: 'misuse', problem: '--token must be a text that is not empty' })
  })

  test('help and version win over everything else', () => {
    expect(readArguments(['--help'])).toEqual({ kind: 'help' })
    expect(readArguments(['serve', '--version', 'a', 'b'])).toEqual({ kind: 'version' })
  })

  test.each([
    [[], 'a command is missing'],
    [['server', 'data'], 'unknown command "server"'],
    [['serve'], 'serve needs <directory>'],
    [['serve', 'data', 'more'], 'unexpected argument "more"'],
    [['serve', 'data', '--port', 'http'], '--port must be an integer from 0 to 65535, got "http"'],
    [['serve', 'data', '--port', '65536'], '--port must be an integer from 0 to 65535, got "65536"'],
    [['serve', 'data', '--port=-1'], '--port must be an integer from 0 to 65535, got "-1"'],
    [['serve', 'data', '--port'], "Option '--port <value>' argument missing"],
    [['verify'], 'verify needs <directory>'],
    [['serve', 'data', '--repair'], 'serve does not take --repair'],
    [['verify', 'data', '--port', '1', '--host', 'h'], 'verify does not take --port and --host'],
    [['verify', 'data', '--port', '1'], 'verify does not take --port'],
    [['serve', 'data', '--prot', '1'], 'unknown option "--prot": did you mean --port?'],
    [['help', 'server'], 'unknown command "server"'],
    [['inspect', 'data', 't', 'u'], 'unexpected argument "u"'],
    [['inspect', 'data', '--limit', '0'], '--limit must be an integer > 0, got "0"'],
    [['compact', 'data', 't'], 'unexpected argument "t"'],
    [['compact', 'data', '--keep-versions', '7'], '--keep-versions must be a time with a unit'],
    [['serve', 'data', '--max-body', '0'], '--max-body must be a size, like 512MiB, not 0, got "0"'],
    [['serve', 'data', '--max-body', '1 kg'], '--max-body must be a size'],
    [['serve', 'data', '--log', 'xml'], '--log must be json, text or none, got "xml"'],
    [['serve', 'data', '--grant', 'acme'], '--grant must be name=database'],
    [['serve', 'data', '--grant', 'acme='], '--grant must be name=database'],
    [['serve', 'data', '--grant', 'acme=a,,b'], '--grant must be name=database'],
    [['serve', 'data', '--context-prefix', 'x-a-,,'], '--context-prefix must be texts'],
    [['import'], 'import needs <source>'],
    [['import', 'a.csv'], 'import needs <directory>'],
    [['query', 'data'], 'query needs <table>'],
    [['diff', 'data', 't', '1'], 'diff needs <to>'],
    [['query', 'data', 't', 'u'], 'unexpected argument "u"'],
    [['query', 'data', 't', '--version', '0'], '--version must be an integer > 0, got "0"'],
    [['query', 'data', 't', '--offset=-1'], '--offset must be an integer >= 0'],
    [['query', 'data', 't', '--select', 'a,,b'], '--select must be texts'],
    [
      ['query', 'data', 't', '--format', 'xml'],
      '--format must be table, json, csv, arrow or parquet, got "xml"',
    ],
    [['import', 'a', 'r', '--types', 'zip'], '--types must be column:type'],
    [['import', 'a', 'r', '--vector', 'v:x'], '--vector must be column:dimension'],
    [['import', 'a', 'r', '--delimiter', ';;'], '--delimiter must be one character, or tab'],
    [['serve', 'data', '--read-only', '--no-read-only'], '--read-only and --no-read-only exclude each other'],
  ])('%j makes no sense', (args, problem) => {
    expect(readArguments(args)).toEqual({ kind: 'misuse', problem: expect.stringContaining(problem) })
  })

  test('grants name the databases of each key, however often the option is given', () => {
    const grant = [
      ['acme', ['acme', 'acme/test']],
      ['globex', ['globex']],
    ]
    const flags = ['--grant', 'acme=acme, acme/test', '--grant', ' globex = globex ']
    expect(readArguments(['serve', 'data', ...flags])).toMatchObject({ grant })
    const variables = { SHEAF_GRANT: 'acme=acme,acme/test,globex=globex' }
    expect(readArguments(['serve', 'data'], variables)).toMatchObject({ grant })
    expect(readArguments(['serve', 'data', '--grant', 'ops=*'])).toMatchObject({ grant: [['ops', ['*']]] })
  })

  test('every option is read with its type', () => {
    const args = [
      '--max-body=1.5GB',
      '--cache-bytes',
      '0',
      '--request-timeout',
      '1.5s',
      '--keep-versions=forever',
    ]
    const more = ['--read-only', '--context-prefix', 'x-a-, x-b-', '--log', 'none', '--max-in-flight', '7']
    expect(readArguments(['serve', 'data', ...args, ...more])).toEqual({
      kind: 'serve',
      directory: 'data',
      maxBody: 1.5e9,
      cacheBytes: 0,
      requestTimeout: 1500,
      keepVersions: Number.POSITIVE_INFINITY,
      readOnly: true,
      contextPrefix: ['x-a-', 'x-b-'],
      log: 'none',
      maxInFlight: 7,
    })
    expect(readArguments(['inspect', 'data', 'ns$t', '--json', '--limit', '5'])).toEqual({
      kind: 'inspect',
      directory: 'data',
      name: 'ns$t',
      json: true,
      limit: 5,
    })
    expect(readArguments(['compact', 'data'])).toEqual({ kind: 'compact', directory: 'data' })
  })

  test('secrets have names, may be repeated, and appear in no message', () => {
    expect(readArguments(['serve', 'data', '--tokens', 'a=1,b=x=y', '--tokens', 'c = 3 '])).toMatchObject({
      tokens: [
        ['a', '1'],
        ['b', 'x=y'],
        ['c', '3'],
      ],
    })
    for (const text of ['hunter2', 'a=1,hunter2', '=hunter2', 'hunter2=', ' =hunter2']) {
      const problem = '--api-keys must be name=secret, separated by commas'
      expect(readArguments(['serve', 'data', '--api-keys', text])).toEqual({ kind: 'misuse', problem })
      expect(readArguments(['serve', 'data'], { SHEAF_API_KEYS: text })).toEqual({
        kind: 'misuse',
        problem: problem.replace('--api-keys', 'SHEAF_API_KEYS'),
      })
    }
  })

  test('the environment sets options that the command line does not, and only for commands that have the option', () => {
    const environment = { SHEAF_PORT: '99', SHEAF_READ_ONLY: 'true', SHEAF_HOST: '', SHEAF_LIMIT: 'none' }
    expect(readArguments(['serve', 'data'], environment)).toEqual({
      kind: 'serve',
      directory: 'data',
      port: 99,
      readOnly: true,
    })
    expect(readArguments(['serve', 'data', '--port', '0', '--no-read-only'], environment)).toEqual({
      kind: 'serve',
      directory: 'data',
      port: 0,
      readOnly: false,
    })
    expect(readArguments(['verify', 'data'], environment)).toMatchObject({ kind: 'verify' })
    expect(readArguments(['inspect', 'data'], environment)).toEqual({
      kind: 'misuse',
      problem: 'SHEAF_LIMIT must be an integer > 0, got "none"',
    })
    for (const text of ['yes', 'constructor']) {
      expect(readArguments(['serve', 'data'], { SHEAF_READ_ONLY: text })).toEqual({
        kind: 'misuse',
        problem: `SHEAF_READ_ONLY must be true or false, got "${text}"`,
      })
    }
  })

  test('help is accepted before and after a command', () => {
    expect(readArguments(['help'])).toEqual({ kind: 'help' })
    expect(readArguments(['help', 'serve'])).toEqual({ kind: 'help', command: 'serve' })
    expect(readArguments(['serve', '--help'])).toEqual({ kind: 'help', command: 'serve' })
    expect(readArguments(['compact', 'data', '--help'])).toEqual({ kind: 'help', command: 'compact' })
    expect(readArguments(['server', '--help'])).toEqual({ kind: 'help' })
  })

  test('the usage of a command names all its options', () => {
    for (const [name, { options }] of Object.entries(commands)) {
      const text = usageOf(name as CommandName)
      for (const option of Object.keys(options)) expect(text).toContain(`  --${option} `)
    }
  })

  test('the documentation contains the usage texts unchanged', () => {
    const page = readFileSync('docs/cli.md', 'utf8')
    const texts = [usage, ...(Object.keys(commands) as CommandName[]).map(usageOf)]
    for (const text of texts) expect(page).toContain(`\`\`\`\n${text}\`\`\`\n`)
  })

  test('the usage names every option', () => {
    for (const option of [
      'serve <directory>',
      'verify <directory>',
      '--repair',
      '--port',
      '--host',
      '--help',
      '--version',
    ])
      expect(usage).toContain(option)
  })
})
