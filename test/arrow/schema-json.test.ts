import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dataPath } from '../../scripts/data.js'
import { equalTypes } from '../../src/arrow/same-type.js'
import { schemaFromJson, typeFromJson } from '../../src/arrow/schema-from-json.js'
import {
  type JsonArrowDataType,
  type JsonArrowField,
  schemaToJson,
  typeToJson,
} from '../../src/arrow/schema-json.js'
import type { DataType, Schema } from '../../src/arrow/types.js'
import { ErrorCode } from '../../src/errors.js'
import { schema as anySchema, dataType } from '../support/arrow-generators.js'

const child = (type: DataType) => ({ name: 'item', nullable: true, type })
const int32: DataType = { kind: 'int', bits: 32, signed: true }
const utf8: DataType = { kind: 'utf8', large: false }
const entries: DataType = {
  kind: 'struct',
  children: [
    { name: 'key', nullable: false, type: utf8 },
    { name: 'value', nullable: true, type: int32 },
  ],
}

/** Type, name in lance, name in namespace, and what else the namespace has in it. */
const table: [DataType, string, string, object?][] = [
  [{ kind: 'null' }, 'null', 'null'],
  [{ kind: 'bool' }, 'bool', 'bool'],
  [{ kind: 'int', bits: 8, signed: true }, 'int8', 'int8'],
  [{ kind: 'int', bits: 64, signed: false }, 'uint64', 'uint64'],
  [{ kind: 'float', bits: 16 }, 'halffloat', 'float16'],
  [{ kind: 'float', bits: 32 }, 'float', 'float32'],
  [{ kind: 'float', bits: 64 }, 'double', 'float64'],
  [utf8, 'string', 'utf8'],
  [{ kind: 'utf8', large: true }, 'large_string', 'large_utf8'],
  [{ kind: 'binary', large: false }, 'binary', 'binary'],
  [{ kind: 'binary', large: true }, 'large_binary', 'large_binary'],
  [{ kind: 'date', unit: 'day' }, 'date32:day', 'date32'],
  [{ kind: 'date', unit: 'ms' }, 'date64:ms', 'date64'],
  [{ kind: 'time', unit: 's' }, 'time32:s', 'time32'],
  [{ kind: 'time', unit: 'us' }, 'time64:us', 'time64'],
  [{ kind: 'timestamp', unit: 'us', timezone: null }, 'timestamp:us:-', 'timestamp'],
  [{ kind: 'timestamp', unit: 'ms', timezone: 'UTC' }, 'timestamp:ms:UTC', 'timestamp'],
  [{ kind: 'timestamp', unit: 'ms', timezone: '+05:30' }, 'timestamp:ms:+05:30', 'timestamp'],
  [{ kind: 'duration', unit: 'ms' }, 'duration:ms', 'duration'],
  [
    { kind: 'decimal', bits: 128, precision: 10, scale: 2 },
    'decimal:128:10:2',
    'decimal128',
    { length: 10_002 },
  ],
  [
    { kind: 'decimal', bits: 256, precision: 40, scale: -2 },
    'decimal:256:40:-2',
    'decimal256',
    { length: 39_998 },
  ],
  [{ kind: 'dictionary', index: int32, value: utf8, ordered: false }, 'dict:string:int32:false', 'utf8'],
]

describe('the names of both dialects', () => {
  test.each(table)('%j is %s to lance and %s to the namespace', (type, lance, namespace, more = {}) => {
    expect(typeToJson(type, 'lance')).toEqual({ type: lance })
    expect(typeToJson(type, 'namespace')).toEqual({ type: namespace, ...more })
    expect(typeFromJson({ type: lance })).toEqual(type)
    expect(typeFromJson(lance)).toEqual(type)
  })

  test('A-105 sized and nested types carry length and fields', () => {
    const vector: DataType = { kind: 'fixed_size_list', size: 4, child: child({ kind: 'float', bits: 32 }) }
    expect(typeToJson(vector, 'lance')).toEqual({
      type: 'fixed_size_list',
      fields: [{ name: 'item', nullable: true, type: { type: 'float' } }],
      length: 4,
    })
    expect(typeToJson({ kind: 'fixed_size_binary', width: 16 }, 'namespace')).toEqual({
      type: 'fixed_size_binary',
      length: 16,
    })
    const large = typeToJson({ kind: 'list', large: true, child: child(utf8) }, 'namespace')
    expect(large).toEqual({
      type: 'large_list',
      fields: [{ name: 'item', nullable: true, type: { type: 'utf8' } }],
    })
    const map = typeToJson(
      { kind: 'map', keysSorted: false, child: { name: 'entries', nullable: false, type: entries } },
      'lance',
    )
    expect(map.fields![0]).toMatchObject({ name: 'entries', nullable: false, type: { type: 'struct' } })
    expect(typeToJson({ kind: 'struct', children: [] }, 'lance')).toEqual({ type: 'struct', fields: [] })
  })

  test('A-105 bare names, upper case and older spellings are read', () => {
    expect(typeFromJson('Utf8')).toEqual(utf8)
    expect(typeFromJson('boolean')).toEqual({ kind: 'bool' })
    expect(typeFromJson('timestamp:us')).toEqual({ kind: 'timestamp', unit: 'us', timezone: null })
    expect(typeFromJson('fixed_size_list:float:128')).toEqual({
      kind: 'fixed_size_list',
      size: 128,
      child: child({ kind: 'float', bits: 32 }),
    })
    expect(typeFromJson('fixed_size_binary:16')).toEqual({ kind: 'fixed_size_binary', width: 16 })
    expect(typeFromJson({ type: 'decimal128', length: 38_010 })).toEqual({
      kind: 'decimal',
      bits: 128,
      precision: 38,
      scale: 10,
    })
  })
})

describe('every schema', () => {
  /** What the lance dialect has no words for. */
  const hasWords = (type: DataType): boolean => {
    const text = JSON.stringify(type)
    if (/"keysSorted":true/.test(text)) return false
    return (
      !/"kind":"dictionary"/.test(text) ||
      type.kind !== 'dictionary' ||
      typeToJson(type, 'lance').type.startsWith('dict:')
    )
  }
  const everyType = (schema: Schema, check: (type: DataType) => boolean): boolean => {
    const visit = (type: DataType): boolean => {
      if (!check(type)) return false
      if (type.kind === 'struct') return type.children.every(field => visit(field.type))
      if ('child' in type) return visit(type.child.type)
      return type.kind !== 'dictionary' || visit(type.value)
    }
    return schema.fields.every(field => visit(field.type))
  }

  test('comes back from the lance dialect', () => {
    fc.assert(
      fc.property(anySchema, schema => {
        fc.pre(everyType(schema, hasWords))
        expect(schemaFromJson(JSON.parse(JSON.stringify(schemaToJson(schema, 'lance'))))).toEqual(schema)
      }),
      { numRuns: 500 },
    )
  })

  test('can be read back from the namespace dialect, with what it has words for', () => {
    fc.assert(
      fc.property(dataType, type => {
        const again = typeFromJson(typeToJson(type, 'namespace'))
        expect(typeToJson(again, 'namespace')).toEqual(typeToJson(type, 'namespace'))
        if (type.kind === 'int' || type.kind === 'decimal') expect(equalTypes(again, type)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('is a JsonArrowSchema of the specification', () => {
    const path = dataPath('..', 'spec', 'lance-namespace-0.11.1.yaml')
    const required =
      path === null ? ['name', 'type', 'nullable'] : requiredOf(readFileSync(path, 'utf8'), 'JsonArrowField')
    const known =
      path === null
        ? ['fields', 'length', 'type']
        : propertiesOf(readFileSync(path, 'utf8'), 'JsonArrowDataType')
    const checkField = (field: JsonArrowField): void => {
      for (const name of required) expect(field).toHaveProperty(name)
      checkType(field.type)
    }
    const checkType = (type: JsonArrowDataType): void => {
      expect(known).toEqual(expect.arrayContaining(Object.keys(type)))
      expect(typeof type.type).toBe('string')
      if (type.length !== undefined) expect(Number.isInteger(type.length) && type.length >= 0).toBe(true)
      type.fields?.forEach(checkField)
    }
    fc.assert(
      fc.property(anySchema, fc.constantFrom('lance' as const, 'namespace' as const), (schema, dialect) => {
        const json = schemaToJson(schema, dialect)
        json.fields.forEach(checkField)
        expect(json.metadata).toEqual(schema.metadata)
      }),
      { numRuns: 300 },
    )
  })
})

/** The `required` list of a schema in the specification's YAML. */
function requiredOf(yaml: string, name: string): string[] {
  const block = yaml.slice(yaml.indexOf(`\n    ${name}:`))
  return [...block.slice(block.indexOf('required:'), block.indexOf('properties:')).matchAll(/- (\w+)/g)].map(
    match => match[1]!,
  )
}

/** The property names of a schema in the specification's YAML. */
function propertiesOf(yaml: string, name: string): string[] {
  const start = yaml.indexOf(`\n    ${name}:`)
  const end = yaml.slice(start + 6).search(/\n {4}\w|\n\n/) + start + 6
  return [...yaml.slice(start, end).matchAll(/\n {8}(\w+):/g)].map(match => match[1]!)
}

describe('invalid types', () => {
  test.each<[unknown, RegExp]>([
    ['strng', /^unknown data type "strng"$/],
    [{ type: 'int128' }, /unknown data type "int128"/],
    [{ type: 5 }, /name must be a string, got 5/],
    [7, /a data type must be an object, got 7/],
    [{ type: 'list' }, /data type "list" needs exactly one child in fields/],
    [
      { type: 'fixed_size_list', fields: [{ name: 'item', type: 'float' }] },
      /"fixed_size_list" needs a length/,
    ],
    [
      { type: 'fixed_size_binary', length: -1 },
      /length of data type "fixed_size_binary" must be a whole number, got -1/,
    ],
    [{ type: 'map', fields: [{ name: 'entries', type: 'int32' }] }, /"map" needs a struct of key and value/],
    [{ type: 'struct', fields: [{ name: 1, type: 'int32' }] }, /a field's name must be a string, got 1/],
    [
      { type: 'struct', fields: [{ name: 'a', type: 'int32', nullable: 'no' }] },
      /nullable of field "a" must be true or false, got "no"/,
    ],
    [
      { type: 'struct', fields: [{ name: 'a', type: 'int32', metadata: { k: 1 } }] },
      /metadata "k" of field "a" must be a string, got 1/,
    ],
    [{ type: 'struct', fields: 'a' }, /fields of data type "struct" must be an array, got "a"/],
    [{ type: 'decimal128', length: 99_000 }, /has the invalid precision 99 or scale 0/],
    ['decimal:64:10:2', /unknown data type/],
    ['dict:string:float:false', /unknown data type/],
    ['timestamp:min:UTC', /unknown data type/],
  ])('%j is refused', (json, words) => {
    expect(() => typeFromJson(json)).toThrow(
      expect.objectContaining({ code: ErrorCode.InvalidInput, message: expect.stringMatching(words) }),
    )
  })

  test('a typing mistake gets the nearest name, an unsupported type says so', () => {
    expect(() => typeFromJson('strng')).toThrow(expect.objectContaining({ hint: 'did you mean "string"?' }))
    expect(() => typeFromJson('union')).toThrow(expect.objectContaining({ code: ErrorCode.Unsupported }))
  })

  test('types nested too deeply are refused', () => {
    let json: unknown = 'int32'
    for (let i = 0; i < 100; i++) json = { type: 'list', fields: [{ name: 'item', type: json }] }
    expect(() => typeFromJson(json)).toThrow(/nested deeper than 48/)
    expect(() => typeFromJson('fixed_size_list:'.repeat(100))).toThrow(/unknown data type|nested deeper/)
  })

  test('a schema without fields is refused, fields are nullable unless they say no', () => {
    expect(() => schemaFromJson({})).toThrow(/fields of the schema must be an array, got undefined/)
    expect(schemaFromJson({ fields: [{ name: 'a', type: { type: 'bool' } }] }).fields[0]!.nullable).toBe(true)
  })
})
