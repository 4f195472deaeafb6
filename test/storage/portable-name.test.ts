import { describe, expect, test } from 'vitest'
import { folderAt } from '../../src/root/locations.js'
import { portabilityProblem } from '../../src/storage/portable-name.js'

describe('a portable name', () => {
  test.each([
    ['CON', 'is the name of a device on Windows'],
    ['aux.tar.gz', 'is the name of a device on Windows'],
    ['com0', 'is the name of a device on Windows'],
    ['Nul .txt', 'is the name of a device on Windows'],
    ['CONOUT$', 'is the name of a device on Windows'],
    ['a.', 'ends in a dot or a space'],
    ['a ', 'ends in a dot or a space'],
    ['x:y', 'contains ":"'],
    ['a\u0001', 'contains "\\u0001"'],
    ['a|b', 'contains "|"'],
  ])('is not %j', (name, problem) => {
    expect(portabilityProblem(name)).toBe(problem)
  })

  test.each(['console', 'com10', 'com', 'lpt', 'nully', 'a.con', '.hidden', 'données', 'a b', '$t', ' a'])(
    'may be %j',
    name => {
      expect(portabilityProblem(name)).toBeUndefined()
    },
  )

  test('contains no control character', () => {
    for (let code = 0; code <= 0xffff; code++) {
      const character = String.fromCharCode(code)
      const isBad = /[\p{Cc}<>:"/\\|?*]/u.test(character)
      if (isBad) expect(portabilityProblem(`a${character}b`)).toMatch(/^contains /)
      else if (portabilityProblem(`a${character}b`) !== undefined) throw new Error(`refuses ${code}`)
    }
  })

  test('is every name in a location of a table', () => {
    expect(folderAt('/root', 'lake/a.lance')).toBe('lake/a.lance')
    expect(() => folderAt('/root', 'lake/con/a')).toThrow(
      expect.objectContaining({
        code: 13,
        message: 'location "lake/con/a" contains the name "con", which is the name of a device on Windows',
        hint: 'choose a name that every platform accepts',
      }),
    )
  })
})
