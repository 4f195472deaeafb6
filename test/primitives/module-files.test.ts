import { afterEach, expect, test, vi } from 'vitest'
import { nodeModule } from '../../src/primitives/module-files.js'

afterEach(() => vi.unstubAllGlobals())

test('a module of Node is loaded when it is needed', () => {
  expect(nodeModule('node:worker_threads', import.meta.url).isMainThread).toBeTypeOf('boolean')
})

test('a version of Node without process.getBuiltinModule requires the module', () => {
  vi.stubGlobal('process', { ...process, getBuiltinModule: undefined })
  expect(nodeModule('node:worker_threads', import.meta.url).isMainThread).toBeTypeOf('boolean')
})
