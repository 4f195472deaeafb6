import { describe, expect, test } from 'vitest'
import type { Request } from '../../src/protocol/calls.js'
import { type OperationEntry, type OperationName, operations } from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'
import { durationMs } from '../../src/protocol/row-shapes.js'
import type { Shape } from '../../src/protocol/shape.js'

function request<N extends OperationName>(name: N, fields: Record<string, unknown>): Request<N> {
  const { request }: OperationEntry = operations[name]
  const id = 'id' in request.fields ? { id: ['t'] } : {}
  return parse(request as Shape, { ...id, ...fields }, name) as Request<N>
}

function refusal(name: OperationName, fields: Record<string, unknown>): string {
  try {
    request(name, fields)
  } catch (error) {
    expect(error).toMatchObject({ code: 13, status: 400 })
    return (error as Error).message
  }
  throw new Error(`${name} was accepted`)
}

describe('namespaces', () => {
  test('modes in the spelling of each client', () => {
    for (const mode of ['ExistOk', 'exist_ok', '"ExistOk"']) {
      expect(request('createNamespace', { mode }).mode).toBe('ExistOk')
    }
    const drop = request('dropNamespace', { mode: '"Fail"', behavior: '"Cascade"' })
    expect(drop).toMatchObject({ mode: 'Fail', behavior: 'Cascade' })
    expect(refusal('createNamespace', { mode: 'Append' })).toContain('one of Create, ExistOk, Overwrite')
  })

  test('the root can be described, not created', () => {
    expect(request('describeNamespace', { id: [] }).id).toStrictEqual([])
    expect(refusal('createNamespace', { id: [] })).toContain('at least 1 element')
  })
})

test('A-120 a bad name cannot be created, but can be asked for', () => {
  for (const name of ['createTable', 'declareTable', 'createNamespace'] as const) {
    expect(refusal(name, { id: ['a/b'] })).toBe(`${name}: id[0] is not a valid name: "a/b" contains "/"`)
  }
  expect(refusal('renameTable', { new_table_name: '..' })).toContain('new_table_name is not a valid name')
  expect(request('describeTable', { id: ['a/b'] }).id).toStrictEqual(['a/b'])
})

test('A-118 the target of a rename under either name', () => {
  expect(request('renameTable', { new_table_name: 'u', new_namespace: ['n'] })).toStrictEqual({
    id: ['t'],
    new_table_name: 'u',
    new_namespace_id: ['n'],
  })
  expect(request('renameTable', { new_table_name: 'u', new_namespace_id: [] })).toStrictEqual({
    id: ['t'],
    new_table_name: 'u',
  })
  expect(request('renameTable', { new_table_name: 'u', new_namespace: [], to_root: true })).toMatchObject({
    to_root: true,
  })
  expect(refusal('renameTable', { new_table_name: 'u', new_namespace_id: ['n'], to_root: true })).toContain(
    'must not have both new_namespace_id and to_root',
  )
})

test('a description is of a version or of a tag', () => {
  expect(refusal('describeTable', { tag: 'a', version: 1 })).toContain('both tag and version')
  expect(refusal('describeTable', { tag: 'a', branch: 'main' })).toContain('both tag and branch')
  expect(request('describeTable', { tag: 'a', version: null }).tag).toBe('a')
})

describe('rows', () => {
  test('A-107 updates are pairs of text, each column once', () => {
    expect(request('updateTable', { predicate: null, updates: [['a', 'b + 1']] })).toStrictEqual({
      id: ['t'],
      updates: [['a', 'b + 1']],
    })
    for (const updates of [undefined, [], [['a']], [['a', '1', '2']], [['a', 1]], ['a', '1'], { a: '1' }]) {
      expect(refusal('updateTable', { updates })).toContain('updates')
    }
    const twice = [
      ['a', '1'],
      ['a', '2'],
    ]
    expect(refusal('updateTable', { updates: twice })).toBe('updateTable: updates must not contain "a" twice')
  })

  test('A-113 a delete needs a predicate', () => {
    for (const predicate of [undefined, null, '', ' \t'])
      expect(refusal('deleteFromTable', { predicate })).toContain('predicate')
    expect(request('deleteFromTable', { predicate: 'true' }).predicate).toBe('true')
  })

  test('a merge accepts one column or several', () => {
    expect(request('mergeInsertIntoTable', { on: 'id' }).on).toStrictEqual(['id'])
    expect(request('mergeInsertIntoTable', { on: ['id', 'cat'] }).on).toStrictEqual(['id', 'cat'])
    for (const on of [undefined, [], '', ['id', 'id']])
      expect(refusal('mergeInsertIntoTable', { on })).toMatch(/\bon\b/)
  })

  test('durations', () => {
    expect(['30s', '5m', '1.5h', '250ms', '0s'].map(durationMs)).toStrictEqual([
      30_000, 300_000, 5_400_000, 250, 0,
    ])
    for (const timeout of ['', '30', 's', '-1s', '1d', '1e3s', ' 1s']) {
      expect(refusal('mergeInsertIntoTable', { on: 'id', timeout })).toBe(
        `mergeInsertIntoTable: timeout must be a duration such as 30s, 5m or 500ms, got ${JSON.stringify(timeout)}`,
      )
    }
  })
})

describe('indexes', () => {
  test('A-078 types in any spelling', () => {
    const spellings = {
      IvfHnswSq: 'IVF_HNSW_SQ',
      labellist: 'LABEL_LIST',
      INVERTED: 'FTS',
      BTree: 'BTREE',
      FMINDEX: 'FM',
    }
    for (const [given, known] of Object.entries(spellings)) {
      expect(request('createTableIndex', { column: 'a', index_type: given }).index_type).toBe(known)
    }
    expect(refusal('createTableIndex', { column: 'a', index_type: 'HASH' })).toContain(
      'index_type must be one of BTREE',
    )
  })

  test('A-077 the column is required, the type follows from it', () => {
    expect(refusal('createTableIndex', { index_type: 'FTS' })).toContain('needs column')
    expect(request('createTableIndex', { column: 'a' }).index_type).toBeUndefined()
  })

  test('A-084 the metric under either name', () => {
    expect(
      request('createTableIndex', { column: 'v', index_type: 'IVF_PQ', metric_type: 'dot' }).distance_type,
    ).toBe('dot')
  })

  test('A-086 an unknown language is refused', () => {
    expect(
      request('createTableIndex', { column: 'a', index_type: 'FTS', language: 'english' }).language,
    ).toBe('English')
    expect(refusal('createTableIndex', { column: 'a', index_type: 'FTS', language: 'Klingon' })).toContain(
      'language',
    )
  })

  test('A-088 parameters are within sensible ranges', () => {
    const ranges = {
      num_partitions: [1, 65_536],
      target_partition_size: [1, 2 ** 31 - 1],
      num_sub_vectors: [1, 65_536],
      num_bits: [1, 8],
      sample_rate: [1, 65_536],
      max_iterations: [1, 10_000],
      m: [2, 128],
      ef_construction: [1, 10_000],
    }
    for (const [name, [least, most]] of Object.entries(ranges)) {
      for (const value of [least! - 1, most! + 1, 1.5]) {
        expect(refusal('createTableIndex', { column: 'v', index_type: 'IVF_PQ', [name]: value })).toContain(
          `${name} must be an integer from ${least} to ${most}, got ${value}`,
        )
      }
    }
  })
})

describe('columns', () => {
  test('A-096 a new column is of exactly one kind', () => {
    const add = (column: object) =>
      request('alterTableAddColumns', { new_columns: [{ name: 'c', ...column }] }).new_columns[0]
    expect(add({ expression: 'a + 1', computed: null, all_null: false })).toStrictEqual({
      name: 'c',
      expression: 'a + 1',
    })
    expect(add({ all_null: true, data_type: 'string' })).toStrictEqual({
      name: 'c',
      all_null: true,
      data_type: { type: 'string' },
    })
    expect(refusal('alterTableAddColumns', { new_columns: [{ name: 'c' }] })).toContain(
      'new_columns[0] needs exactly one of',
    )
    expect(
      refusal('alterTableAddColumns', { new_columns: [{ name: 'c', expression: '1', computed: '2' }] }),
    ).toContain('got expression and computed')
  })

  test('A-101 A-106 an alteration needs a path and a change', () => {
    expect(refusal('alterTableAlterColumns', { alterations: [] })).toContain('at least 1 element')
    expect(refusal('alterTableAlterColumns', { alterations: [{ rename: 'b' }] })).toContain('needs path')
    expect(refusal('alterTableAlterColumns', { alterations: [{ path: 'a', rename: null }] })).toContain(
      'needs at least one of',
    )
  })

  test('A-105 types as objects or bare names', () => {
    const alter = (data_type: unknown) =>
      request('alterTableAlterColumns', { alterations: [{ path: 'a', data_type }] }).alterations[0]!.data_type
    expect(alter('string')).toStrictEqual({ type: 'string' })
    const list = {
      type: 'fixed_size_list',
      length: 4,
      fields: [{ name: 'item', nullable: true, type: 'float' }],
    }
    expect(alter(list)).toStrictEqual({
      ...list,
      fields: [{ name: 'item', nullable: true, type: { type: 'float' } }],
    })
  })
})

describe('versions', () => {
  const version = { version: 3, manifest_path: '_versions/3.manifest' }

  test('A-124 version and manifest_path are required, sizes and schemes checked', () => {
    expect(request('createTableVersion', { ...version, naming_scheme: 'v1' }).naming_scheme).toBe('V1')
    expect(refusal('createTableVersion', { version: 3 })).toContain('needs manifest_path')
    expect(refusal('createTableVersion', { manifest_path: 'a' })).toContain('needs version')
    expect(refusal('createTableVersion', { ...version, version: -1 })).toContain(
      'version must be an integer >= 0',
    )
    expect(refusal('createTableVersion', { ...version, manifest_size: -1 })).toContain('manifest_size')
    expect(refusal('createTableVersion', { ...version, naming_scheme: 'V3' })).toContain('one of V1, V2')
  })

  test('A-131 a scheme that contradicts the path is refused, in a batch too', () => {
    const wrong = { ...version, naming_scheme: 'V2' }
    expect(refusal('createTableVersion', wrong)).toContain('has naming_scheme V2, but manifest_path')
    expect(refusal('batchCreateTableVersions', { entries: [{ id: ['t'], ...wrong }] })).toContain(
      'entries[0] has naming_scheme V2',
    )
  })

  test('A-133 A-135 batches are not empty, and each operation is of exactly one kind', () => {
    expect(refusal('batchCreateTableVersions', { entries: [] })).toContain('at least 1 element')
    expect(refusal('batchCommitTables', { operations: [] })).toContain('at least 1 element')
    expect(refusal('batchCommitTables', { operations: [{}] })).toContain('operations[0] needs exactly one of')
    const both = { declare_table: { id: ['a'] }, deregister_table: { id: ['b'] } }
    expect(refusal('batchCommitTables', { operations: [both] })).toContain(
      'got declare_table and deregister_table',
    )
    const { operations: kinds } = request('batchCommitTables', {
      operations: [{ DeclareTable: { id: ['a'] } }, { deregister_table: { id: ['b'] }, declare_table: null }],
    })
    expect(kinds).toStrictEqual([{ declare_table: { id: ['a'] } }, { deregister_table: { id: ['b'] } }])
  })

  test('A-137 ranges run forwards, or to the latest', () => {
    const ranges = [
      { start_version: 0, end_version: -1 },
      { start_version: 2, end_version: 2 },
    ]
    expect(request('batchDeleteTableVersions', { ranges }).ranges).toStrictEqual(ranges)
    expect(refusal('batchDeleteTableVersions', { ranges: [{ start_version: 3, end_version: 2 }] })).toBe(
      'batchDeleteTableVersions: ranges[0] ends at 2, before its start at 3',
    )
    expect(
      refusal('batchDeleteTableVersions', { ranges: [{ start_version: 3, end_version: -2 }] }),
    ).toContain('>= -1')
  })

  test('A-155 a tag is checked where it is created', () => {
    expect(refusal('createTableTag', { tag: '../x', version: 1 })).toContain('tag is not a valid tag name')
    expect(request('getTableTagVersion', { tag: '../x' }).tag).toBe('../x')
  })
})

describe('transactions', () => {
  test('A-144 A-145 at least one action, each of exactly one kind', () => {
    expect(refusal('alterTransaction', {})).toContain('needs actions')
    expect(refusal('alterTransaction', { actions: [] })).toContain('at least 1 element')
    expect(refusal('alterTransaction', { actions: [{}] })).toContain('actions[0] needs exactly one of')
    const both = { setStatusAction: { status: 'Failed' }, unsetPropertyAction: { key: 'a' } }
    expect(refusal('alterTransaction', { actions: [both] })).toContain(
      'got setStatusAction and unsetPropertyAction',
    )
  })

  test('A-146 statuses in any case', () => {
    for (const status of ['CANCELED', 'canceled', 'Canceled', 'cancelled']) {
      const { actions } = request('alterTransaction', { actions: [{ setStatusAction: { status } }] })
      expect(actions).toStrictEqual([{ setStatusAction: { status: 'Canceled' } }])
    }
    expect(refusal('alterTransaction', { actions: [{ setStatusAction: { status: 'Paused' } }] })).toContain(
      'one of Queued',
    )
  })

  test('A-147 modes', () => {
    const actions = [
      { setPropertyAction: { key: 'a', value: 'b', mode: 'skip' } },
      { unsetPropertyAction: { key: 'a', mode: 'FAIL' } },
    ]
    expect(request('alterTransaction', { actions }).actions).toMatchObject([
      { setPropertyAction: { mode: 'Skip' } },
      { unsetPropertyAction: { mode: 'Fail' } },
    ])
    expect(
      refusal('alterTransaction', { actions: [{ unsetPropertyAction: { key: 'a', mode: 'Overwrite' } }] }),
    ).toContain('mode')
  })
})

describe('views', () => {
  const view = { kind: 'query', source_query: 'q', output_schema: 's' }
  const spec = { kind: 'scalar_udtf', udtf: 'x', udtf_sha: 'x', udtf_name: 'x', udtf_version: '1' }

  test('a function comes with the kinds that need one', () => {
    expect(request('createMaterializedView', view).kind).toBe('query')
    expect(
      request('createMaterializedView', { ...view, kind: 'chunker', udtf_spec: spec }).udtf_spec?.kind,
    ).toBe('chunker')
    expect(refusal('createMaterializedView', { ...view, kind: 'udtf' })).toContain(
      'needs udtf_spec if kind is udtf',
    )
    expect(refusal('createMaterializedView', { ...view, udtf_spec: spec })).toContain(
      'must not have udtf_spec',
    )
  })

  test('A-159 numbers of a refresh are at least 1', () => {
    expect(request('refreshMaterializedView', { src_version: 0 }).src_version).toBe(0)
    for (const name of [
      'max_rows_per_fragment',
      'concurrency',
      'intra_applier_concurrency',
      'output_limit',
    ]) {
      expect(refusal('refreshMaterializedView', { [name]: 0 })).toContain(`${name} must be an integer >= 1`)
    }
  })
})
