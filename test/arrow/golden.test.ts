import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { dataPath } from '../../scripts/data.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks, encodeIpcFile, encodeIpcStream } from '../../src/arrow/encode-ipc.js'
import type { Field } from '../../src/arrow/types.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { contents } from '../support/arrow-generators.js'
import { expectedContents, type IntegrationJson, type JsonField } from '../support/arrow-integration-json.js'

/** What Sheaf refuses, and with which words. */
const refused: Readonly<Record<string, RegExp>> = {
  generated_union: /column "sparse" has type union/,
}

describe.each(['1.0.0-littleendian', '2.0.0-compression'])('golden files of Arrow, %s', folder => {
  const path = dataPath('arrow', folder)
  test.runIf(path === null)('are skipped: SHEAF_DATA has no arrow folder', () => expect(path).toBeNull())
  if (path === null) return

  const files = readdirSync(path).filter(name => /\.(stream|arrow_file)$/.test(name))
  test('are there', () => expect(files.length).toBeGreaterThan(5))

  test.each(files)('%s', name => {
    const bytes = readFileSync(join(path, name))
    const stem = name.replace(/\.\w+$/, '')
    const words = refused[stem]
    if (words !== undefined) {
      const error = thrown(() => decodeIpc(bytes))
      expect(error).toBeInstanceOf(SheafError)
      expect(error).toMatchObject({ code: ErrorCode.Unsupported, message: expect.stringMatching(words) })
      return
    }
    const json = readJson(join(path, `${stem}.json.gz`))
    const { schema, batches } = decodeIpc(bytes)
    expect(schema.fields.map(summaryOf)).toEqual(json.schema.fields.map(summaryOfJson))
    expect(schema.metadata).toEqual(metadataOf(json.schema.metadata))
    expect(batches.map(batch => batch.length)).toEqual(json.batches.map(batch => batch.count))
    expect(batches.map(contents)).toEqual(expectedContents(json, schema.fields))

    for (const encode of [encodeIpcStream, encodeIpcFile]) {
      const again = decodeIpc(concatChunks(encode(schema, batches)))
      expect(again.schema).toEqual(schema)
      expect(again.batches.map(contents)).toEqual(batches.map(contents))
    }
  })
})

function thrown(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

function readJson(path: string): IntegrationJson {
  return JSON.parse(gunzipSync(readFileSync(path)).toString()) as IntegrationJson
}

const kinds: Readonly<Record<string, string>> = {
  floatingpoint: 'float',
  fixedsizebinary: 'fixed_size_binary',
  fixedsizelist: 'fixed_size_list',
  largelist: 'list',
  largebinary: 'binary',
  largeutf8: 'utf8',
}

function summaryOf({ name, type, nullable, metadata }: Field): unknown {
  const plain = type.kind === 'dictionary' ? type.value.kind : type.kind
  return { name, nullable, kind: plain, dictionary: type.kind === 'dictionary', metadata }
}

function summaryOfJson({ name, type, nullable, dictionary, metadata }: JsonField): unknown {
  const kind = kinds[type.name] ?? type.name
  return { name, nullable, kind, dictionary: dictionary !== undefined, metadata: metadataOf(metadata) }
}

function metadataOf(pairs: JsonField['metadata']): Record<string, string> | undefined {
  if (pairs === undefined || pairs.length === 0) return undefined
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value]))
}
