import { describe, expect, test } from 'vitest'
import { readArguments } from '../../../adapters/cli/arguments.js'
import { usage } from '../../../adapters/cli/usage.js'

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

  test('help and version win over everything else', () => {
    expect(readArguments(['--help'])).toEqual({ kind: 'help' })
    expect(readArguments(['serve', '--version', 'a', 'b'])).toEqual({ kind: 'version' })
  })

  test.each([
    [[], 'a command is missing'],
    [['server', 'data'], 'unknown command "server"'],
    [['serve'], 'serve needs a directory'],
    [['serve', 'data', 'more'], 'unexpected argument "more"'],
    [['serve', 'data', '--port', 'http'], '--port must be an integer from 0 to 65535, got "http"'],
    [['serve', 'data', '--port', '65536'], '--port must be an integer from 0 to 65535, got "65536"'],
    [['serve', 'data', '--port=-1'], '--port must be an integer from 0 to 65535, got "-1"'],
    [['serve', 'data', '--port'], "Option '--port <value>' argument missing"],
    [['verify'], 'verify needs a directory'],
    [['serve', 'data', '--repair'], 'serve does not take --repair'],
    [['verify', 'data', '--port', '1'], 'verify does not take --port and --host'],
    [['serve', 'data', '--prot', '1'], "Unknown option '--prot'"],
  ])('%j makes no sense', (args, problem) => {
    expect(readArguments(args)).toEqual({ kind: 'misuse', problem: expect.stringContaining(problem) })
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
