import { describe, expect, test } from 'vitest'
import { typeName } from '../../src/arrow/type-name.js'
import { arrowField, type LanceField, nestLanceFields } from '../../src/lance/schema.js'

function field(id: number, parentId: number, logicalType: string, name = `f${id}`): LanceField {
  return { id, parentId, name, logicalType, nullable: true, metadata: {}, children: [] }
}

function typeOf(...fields: LanceField[]): string {
  const [column] = nestLanceFields(fields)
  return typeName(arrowField(column!).type)
}

describe('types of Lance', () => {
  test.each([
    ['null', 'null'],
    ['bool', 'bool'],
    ['uint16', 'uint16'],
    ['halffloat', 'float16'],
    ['double', 'float64'],
    ['string', 'utf8'],
    ['large_string', 'large_utf8'],
    ['json', 'large_binary'],
    ['decimal:128:38:-2', 'decimal128(38, -2)'],
    ['decimal:256:76:3', 'decimal256(76, 3)'],
    ['date32:day', 'date32'],
    ['date64:ms', 'date64'],
    ['time32:s', 'time(s)'],
    ['time64:ns', 'time(ns)'],
    ['timestamp:us:-', 'timestamp(us)'],
    ['timestamp:ms:Europe/Paris', 'timestamp(ms, Europe/Paris)'],
    ['timestamp:ns:+05:30', 'timestamp(ns, +05:30)'],
    ['duration:ms', 'duration(ms)'],
    ['fixed_size_binary:16', 'fixed_size_binary[16]'],
    ['fixed_size_list:float:128', 'fixed_size_list<float32>[128]'],
    ['fixed_size_list:fixed_size_list:int8:3:2', 'fixed_size_list<fixed_size_list<int8>[3]>[2]'],
    ['fixed_size_list:lance.bfloat16:4', 'fixed_size_list<fixed_size_binary[2]>[4]'],
    ['fixed_size_list:timestamp:us:-:4', 'fixed_size_list<timestamp(us)>[4]'],
    ['dict:string:int16:false', 'dictionary<utf8, int16>'],
  ])('%s is %s', (logicalType, name) => {
    expect(typeOf(field(0, -1, logicalType))).toBe(name)
  })

  test('nested types have children', () => {
    expect(typeOf(field(0, -1, 'list'), field(1, 0, 'int32'))).toBe('list<int32>')
    expect(typeOf(field(0, -1, 'large_list.struct'), field(1, 0, 'struct'), field(2, 1, 'bool', 'a'))).toBe(
      'large_list<struct<a: bool>>',
    )
    expect(
      typeOf(
        field(0, -1, 'map'),
        field(1, 0, 'struct'),
        field(2, 1, 'string', 'key'),
        field(3, 1, 'int8', 'value'),
      ),
    ).toBe('map<utf8, int8>')
    expect(
      typeOf(field(0, -1, 'fixed_size_list:struct:2'), field(1, 0, 'struct'), field(2, 1, 'bool', 'a')),
    ).toBe('fixed_size_list<struct<a: bool>>[2]')
  })

  test.each([
    'interval',
    'decimal:128:39:0',
    'decimal:64:3:0',
    'fixed_size_list:float:0',
    'fixed_size_binary:99999999999',
    'timestamp:min:-',
    'dict:string:string:false',
    `${'fixed_size_list:'.repeat(60)}int8${':1'.repeat(60)}`,
  ])('%s is refused', logicalType => {
    expect(() => typeOf(field(0, -1, logicalType, 'column_name'))).toThrow('column_name')
  })
})

describe('fields of Lance', () => {
  test('two fields with one id are refused', () => {
    expect(() => nestLanceFields([field(1, -1, 'bool'), field(1, -1, 'bool')])).toThrow('the id 1')
  })

  test('a parent that does not precede its field is refused', () => {
    expect(() => nestLanceFields([field(1, 2, 'bool'), field(2, -1, 'struct')])).toThrow('parent 2')
  })

  test('more than 48 levels are refused', () => {
    const fields = Array.from({ length: 60 }, (_, i) => field(i, i - 1, 'struct'))
    expect(() => nestLanceFields(fields)).toThrow('48 levels')
  })

  test('a list without an item, and a number with one, are refused', () => {
    expect(() => typeOf(field(0, -1, 'list'))).toThrow('0 children')
    expect(() => typeOf(field(0, -1, 'int8'), field(1, 0, 'int8'))).toThrow('1 children')
  })
})
