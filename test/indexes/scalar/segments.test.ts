/** What an index finds is what a filter finds: for every type that has an order, and every kind of index. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Batch, Column } from '../../../src/arrow/column.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { sliceBatch } from '../../../src/arrow/slice.js'
import type { DataType, IntType } from '../../../src/arrow/types.js'
import type { ScalarKind, ScalarProbe } from '../../../src/indexes/scalar/probe.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import {
  type Bound,
  CallNode,
  CompareNode,
  InNode,
  IsNode,
  LogicNode,
  NotNode,
} from '../../../src/sql/bound.js'
import { BoundExpression } from '../../../src/sql/bound-expression.js'
import { ColumnNode } from '../../../src/sql/column-node.js'
import { selectRows } from '../../../src/sql/evaluate.js'
import { noChance } from '../../../src/sql/functions/call.js'
import { functionNamed } from '../../../src/sql/functions/functions.js'
import type { CompareOp } from '../../../src/sql/syntax/syntax.js'
import { LiteralNode } from '../../../src/sql/values/literal-node.js'
import type { Scalar } from '../../../src/sql/values/scalar.js'
import { boolType, elementType, valueType } from '../../../src/sql/values/types.js'
import { scalarAt } from '../../../src/sql/values/vector.js'
import { cellValue } from '../../support/arrow-generators.js'
import { segmentOf } from '../../support/segments.js'

const int = (bits: 8 | 16 | 32 | 64, signed: boolean): IntType => ({ kind: 'int', bits, signed })
const utf8: DataType = { kind: 'utf8', large: false }

const types: readonly DataType[] = [
  { kind: 'bool' },
  ...([8, 16, 32, 64] as const).flatMap(bits => [int(bits, true), int(bits, false)]),
  ...([16, 32, 64] as const).map(bits => ({ kind: 'float', bits }) as const),
  utf8,
  { kind: 'utf8', large: true },
  { kind: 'binary', large: false },
  { kind: 'fixed_size_binary', width: 11 },
  { kind: 'decimal', bits: 128, precision: 20, scale: 3 },
  { kind: 'decimal', bits: 256, precision: 38, scale: -2 },
  { kind: 'date', unit: 'day' },
  { kind: 'date', unit: 'ms' },
  { kind: 'time', unit: 's' },
  { kind: 'time', unit: 'ns' },
  { kind: 'timestamp', unit: 'us', timezone: null },
  { kind: 'timestamp', unit: 'ns', timezone: 'Europe/Paris' },
  { kind: 'duration', unit: 'ms' },
  { kind: 'dictionary', index: int(8, true), value: utf8, ordered: false },
  { kind: 'dictionary', index: int(64, false), value: { kind: 'float', bits: 64 }, ordered: false },
]

const words = ['', 'a', 'a\0', 'abcdefgh', 'abcdefghi', 'abcdefghij', 'é', '\uffff', '🎉', 'abcdefgh🎉']
const floats = [0, -0, Number.NaN, Infinity, -Infinity, 1, -1, 0.5]

/** Values that stand where orders are mistaken, beside any others. */
function cell(type: DataType): fc.Arbitrary<unknown> {
  const of = valueType(type)
  const any = cellValue(type)
  if (of.kind === 'utf8') return fc.oneof(fc.constantFrom(...words), any)
  if (of.kind === 'float') return fc.oneof(fc.constantFrom(...floats), any)
  if (of.kind === 'int') {
    const small = fc.integer({ min: 0, max: 3 })
    return fc.oneof(of.bits === 64 ? small.map(BigInt) : small, any)
  }
  return any
}

/** Rows with many equal values, some of them null; cut out of more rows, so that buffers begin anywhere. */
function batchOf(type: DataType, cells: fc.Arbitrary<unknown>): fc.Arbitrary<Batch> {
  const schema = { fields: [{ name: 'v', type, nullable: true }] }
  return fc
    .tuple(fc.array(cells, { minLength: 1, maxLength: 8 }), fc.array(fc.nat(8), { maxLength: 40 }), fc.nat(5))
    .map(([few, picks, cut]) => {
      const rows = picks.map(pick => ({ v: few[pick] ?? null }))
      const from = Math.min(cut, rows.length)
      return sliceBatch(rowsToBatch(rows, schema), from, rows.length - from)
    })
}

/** Constants as they stand in probes: of rows that are there, and of others. */
function constantsOf(type: DataType, cells: fc.Arbitrary<unknown>): fc.Arbitrary<Scalar[]> {
  const schema = { fields: [{ name: 'v', type, nullable: false }] }
  return fc.array(cells, { minLength: 3, maxLength: 5 }).map(values => {
    const column = rowsToBatch(
      values.map(v => ({ v })),
      schema,
    ).columns[0]!
    return values.map((_, i) => scalarAt(column, i))
  })
}

/** The rows for which a filter is true. */
function filtered(batch: Batch, expr: Bound): number[] {
  return [...selectRows(new BoundExpression(expr, noChance), batch).toIndices()]
}

function conditionOf(type: DataType, probe: ScalarProbe): Bound {
  const column = new ColumnNode(['v'], type)
  const isNull = new IsNode(column, 'null')
  const compared = (op: CompareOp, value: Scalar) =>
    new CompareNode(op, column, new LiteralNode(valueType(type), value))
  switch (probe.kind) {
    case 'range': {
      const { low, high } = probe
      const operands: Bound[] = [new NotNode(isNull)]
      if (low !== null) operands.push(compared(low.inclusive ? '>=' : '>', low.value))
      if (high !== null) operands.push(compared(high.inclusive ? '<=' : '<', high.value))
      return new LogicNode('and', operands)
    }
    case 'members':
      return new InNode(column, { values: probe.values, hasNull: false, others: [] })
    case 'null':
      return isNull
    default: {
      const list: DataType = {
        kind: 'list',
        large: false,
        child: { name: 'item', type: elementType(type)!, nullable: true },
      }
      const elements = new LiteralNode(list, probe.values)
      return new CallNode(boolType, functionNamed(`array_has_${probe.kind}`)!, [column, elements])
    }
  }
}

const orders = (type: DataType, constants: readonly Scalar[]): ScalarProbe[] => {
  const [a, b] = constants as [Scalar, Scalar]
  const distinct = distinctOf(type, constants)
  const probes: ScalarProbe[] = [
    { kind: 'null' },
    { kind: 'members', values: distinct },
    { kind: 'members', values: [] },
    { kind: 'range', low: null, high: null },
    { kind: 'range', low: { value: a, inclusive: true }, high: { value: a, inclusive: true } },
  ]
  for (const inclusive of [true, false]) {
    probes.push(
      { kind: 'range', low: { value: a, inclusive }, high: null },
      { kind: 'range', low: null, high: { value: a, inclusive } },
      { kind: 'range', low: { value: a, inclusive }, high: { value: b, inclusive: !inclusive } },
      { kind: 'range', low: { value: b, inclusive }, high: { value: a, inclusive } },
    )
  }
  return probes
}

/** As a filter's list of members holds them. */
function distinctOf(type: DataType, values: readonly Scalar[]): Scalar[] {
  const seen = new Map<string, Scalar>()
  for (const value of values) {
    const name = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : `${String(value)}`
    seen.set(valueType(type).kind === 'float' && value === 0 ? '0' : name, value)
  }
  return [...seen.values()]
}

async function agrees(kind: ScalarKind, batch: Batch, probes: readonly ScalarProbe[]): Promise<void> {
  const column: Column = batch.columns[0]!
  const segment = await segmentOf(kind, column)
  for (const probe of probes) {
    const found = await segment.find(probe, new Pacer())
    const expected = filtered(batch, conditionOf(column.type, probe))
    expect({ probe, rows: [...found.toIndices()] }).toEqual({ probe, rows: expected })
    const estimate = await segment.estimate(probe, new Pacer())
    if (probe.kind === 'any' || probe.kind === 'all') expect(estimate).toBeGreaterThanOrEqual(expected.length)
    else expect({ probe, estimate }).toEqual({ probe, estimate: expected.length })
  }
}

describe.each(types.map(type => [JSON.stringify(type), type] as const))('%s', (_, type) => {
  const given = fc.oneof(
    fc.record({ batch: batchOf(type, cell(type)), constants: constantsOf(type, cell(type)) }),
    batchOf(type, cell(type)).map(batch => ({ batch, constants: presentOf(batch) })),
  )

  test.each(['BTREE', 'BITMAP'] as const)('%s', async kind => {
    await fc.assert(
      fc.asyncProperty(given, async ({ batch, constants }) => {
        if (constants.length > 1) await agrees(kind, batch, orders(type, constants))
      }),
      { numRuns: 8 },
    )
  })
})

/** Constants of the rows that have one. */
function presentOf({ columns, length }: Batch): Scalar[] {
  const values: Scalar[] = []
  for (let row = 0; row < length && values.length < 5; row++) {
    const value = scalarAt(columns[0]!, row)
    if (value !== null) values.push(value)
  }
  return values.reverse()
}

describe('LABEL_LIST', () => {
  const child = (type: DataType) => ({ name: 'item', type, nullable: true })
  const lists: readonly DataType[] = [
    { kind: 'list', large: false, child: child(utf8) },
    { kind: 'list', large: true, child: child(int(64, true)) },
    { kind: 'fixed_size_list', size: 2, child: child({ kind: 'float', bits: 64 }) },
    { kind: 'list', large: false, child: child({ kind: 'decimal', bits: 128, precision: 9, scale: 2 }) },
  ]
  test.each(lists.map(type => [JSON.stringify(type), type] as const))('%s', async (_, type) => {
    const element = elementType(type)!
    const few = fc.array(cell(element), { minLength: 4, maxLength: 6 })
    const size = type.kind === 'fixed_size_list' ? type.size : 0
    await fc.assert(
      fc.asyncProperty(few, fc.infiniteStream(fc.nat(7)), fc.nat(30), async (values, picks, count) => {
        const next = () => picks.next().value as number
        const rows = Array.from({ length: count }, () => {
          if (next() === 7) return { v: null }
          return { v: Array.from({ length: size || next() % 5 }, () => values[next()] ?? null) }
        })
        const batch = rowsToBatch(rows, { fields: [{ name: 'v', type, nullable: true }] })
        const constants = constantsFrom(element, values)
        const probes: ScalarProbe[] = []
        for (let size = 1; size <= Math.min(3, constants.length); size++)
          for (const kind of ['any', 'all'] as const) probes.push({ kind, values: constants.slice(0, size) })
        await agrees('LABEL_LIST', batch, probes)
      }),
      { numRuns: 15 },
    )
  })

  function constantsFrom(type: DataType, values: readonly unknown[]): Scalar[] {
    const rows = values.map(v => ({ v }))
    const column = rowsToBatch(rows, { fields: [{ name: 'v', type, nullable: true }] }).columns[0]!
    return distinctOf(
      type,
      rows.map((_, i) => scalarAt(column, i)),
    )
  }
})
