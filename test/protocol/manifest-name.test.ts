import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  detectNamingScheme,
  manifestName,
  parseManifestName,
  schemeContradiction,
} from '../../src/protocol/manifest-name.js'

const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

describe('A-128 names', () => {
  test('of both schemes', () => {
    expect(manifestName(1, 'V1')).toBe('1.manifest')
    expect(manifestName(1, 'V2')).toBe('18446744073709551614.manifest')
    expect(manifestName(2n ** 64n - 1n, 'V2')).toBe('00000000000000000000.manifest')
  })

  test('V2 names have any 64-bit version', () => {
    fc.assert(
      fc.property(u64, version => {
        expect(parseManifestName(`t.lance/_versions/${manifestName(version, 'V2')}`)).toStrictEqual({
          version,
          scheme: 'V2',
          staging: null,
        })
      }),
    )
  })

  test('V1 names have any version of up to 19 digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 19n - 1n }), version => {
        expect(parseManifestName(manifestName(version, 'V1'))).toStrictEqual({
          version,
          scheme: 'V1',
          staging: null,
        })
      }),
    )
  })

  test('versions without a name are refused', () => {
    for (const version of [-1, 2n ** 64n])
      expect(() => manifestName(version, 'V2')).toThrow(/version must be from 0/)
    expect(() => manifestName(10n ** 19n, 'V1')).toThrow(/naming scheme V1/)
  })

  test('a staging file carries its UUID', () => {
    const uuid = '0b51d3c2-5a1e-4b0c-9d7e-2f3a4b5c6d7e'
    expect(parseManifestName(`a/_versions/18446744073709551612.manifest-${uuid}`)).toStrictEqual({
      version: 3n,
      scheme: 'V2',
      staging: uuid,
    })
  })

  test.each([
    '',
    'a.manifest',
    'd1.manifest',
    '01.manifest',
    '-1.manifest',
    '1.manifest-x',
    '1.manifest.tmp',
    '99999999999999999999.manifest',
    '_versions/',
  ])('%j is none', name => {
    expect(parseManifestName(name)).toBeNull()
  })
})

test('A-129 twenty digits mean V2, fewer V1; both in one directory are an error', () => {
  expect(detectNamingScheme(['18446744073709551614.manifest', 'latest_version_hint.json'])).toBe('V2')
  expect(detectNamingScheme(['1.manifest', '2.manifest'])).toBe('V1')
  expect(detectNamingScheme(['a.txt', '1.manifest-0b51d3c2-5a1e-4b0c-9d7e-2f3a4b5c6d7e'])).toBeNull()
  expect(() => detectNamingScheme(['1.manifest', '18446744073709551614.manifest'])).toThrow(
    /both naming schemes/,
  )
})

test('A-130 V2 names in byte order are versions from the newest', () => {
  fc.assert(
    fc.property(fc.uniqueArray(u64), versions => {
      const byName = versions.map(version => manifestName(version, 'V2')).sort()
      const byVersion = versions.sort((a, b) => (a < b ? 1 : -1)).map(version => manifestName(version, 'V2'))
      expect(byName).toStrictEqual(byVersion)
    }),
  )
})

test('A-131 a stated scheme must fit the path', () => {
  expect(schemeContradiction('_versions/1.manifest', 'V1')).toBeUndefined()
  expect(schemeContradiction('_versions/1.manifest', undefined)).toBeUndefined()
  expect(schemeContradiction('some/pointer.json', 'V2')).toBeUndefined()
  expect(schemeContradiction('_versions/1.manifest', 'V2')).toMatch(/naming_scheme V2, but .* a V1 name/)
})
