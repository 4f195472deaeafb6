import { expect, test } from 'vitest'
import { onStop, Stopped } from '../../../adapters/cli/stopping.js'

test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGBREAK'] as const)('%s stops the program once', signal => {
  const before = process.listenerCount(signal)
  const stops: string[] = []
  onStop(each => stops.push(each))
  process.emit(signal, signal)
  expect(stops).toEqual([signal])
  expect(process.listenerCount(signal)).toBe(before)
})

test('the exit code of a stopped command is that of a shell', () => {
  expect(new Stopped('SIGHUP')).toMatchObject({ message: 'stopped by SIGHUP', exitCode: 129 })
})
