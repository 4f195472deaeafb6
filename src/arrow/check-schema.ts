/** Checks the shape of schemas that callers write by hand, before other code relies on it. */
import { quote, schemaMismatch } from '../errors.js'
import { childFields, type DataType, maxTypeDepth, type Schema } from './types.js'

const units = ['s', 'ms', 'us', 'ns']
const isBoolean = (value: unknown) => typeof value === 'boolean'
const isCount = (value: unknown) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31
const oneOf =
  (...values: readonly unknown[]) =>
  (value: unknown) =>
    values.includes(value)
const isField = (value: unknown) => typeof value === 'object' && value !== null
const isFields = (value: unknown) => Array.isArray(value) && value.every(isField)

/** By kind of type: the required properties in addition to `kind`, each with a function that checks its value. */
const properties: Readonly<Record<DataType['kind'], Readonly<Record<string, (value: unknown) => boolean>>>> =
  {
    null: {},
    bool: {},
    int: { bits: oneOf(8, 16, 32, 64), signed: isBoolean },
    float: { bits: oneOf(16, 32, 64) },
    utf8: { large: isBoolean },
    binary: { large: isBoolean },
    fixed_size_binary: { width: isCount },
    decimal: { bits: oneOf(128, 256), precision: isCount, scale: Number.isInteger },
    date: { unit: oneOf('day', 'ms') },
    time: { unit: oneOf(...units) },
    timestamp: { unit: oneOf(...units), timezone: value => value === null || typeof value === 'string' },
    duration: { unit: oneOf(...units) },
    interval: { unit: oneOf('year_month', 'day_time', 'month_day_nano') },
    list: { large: isBoolean, child: isField },
    fixed_size_list: { size: isCount, child: isField },
    struct: { children: isFields },
    map: { keysSorted: isBoolean, child: isField },
    dictionary: { index: isField, value: isField, ordered: isBoolean },
  }

/**
 * Throw `SchemaValidation` if `schema` is not a valid schema. The message names the field and the missing or wrong
 * property.
 */
export function checkSchemaShape(schema: Schema): void {
  if (typeof schema !== 'object' || schema === null || !isFields(schema.fields)) {
    throw schemaMismatch(`a schema must be an object with an array fields, got ${quote(schema)}`, {
      hint: "make it with schema() of sheaf: schema({ id: 'int64', title: 'string' })",
    })
  }
  for (const field of schema.fields) checkField(field, '', 0)
}

function checkField(
  field: { readonly [key: string]: unknown } | object,
  parent: string,
  depth: number,
): void {
  const { name, nullable, type } = field as Readonly<Record<string, unknown>>
  if (typeof name !== 'string')
    throw schemaMismatch(
      `the name of a field of ${parent || 'the schema'} must be a string, got ${quote(name)}`,
    )
  const path = parent === '' ? name : `${parent}.${name}`
  if (typeof nullable !== 'boolean')
    throw schemaMismatch(`field ${quote(path)} needs nullable: true or false`)
  checkType(type, path, depth)
}

function checkType(type: unknown, path: string, depth: number): void {
  if (depth > maxTypeDepth)
    throw schemaMismatch(`field ${quote(path)} is nested deeper than ${maxTypeDepth} levels`)
  const given = (typeof type === 'object' && type !== null ? type : {}) as Readonly<Record<string, unknown>>
  if (typeof given.kind !== 'string' || !Object.hasOwn(properties, given.kind)) {
    throw schemaMismatch(`field ${quote(path)} has the invalid type ${quote(type)}`, {
      hint: `a type is an object whose kind is one of ${Object.keys(properties).join(', ')}`,
    })
  }
  for (const [name, fits] of Object.entries(properties[given.kind as DataType['kind']])) {
    if (fits(given[name])) continue
    throw schemaMismatch(
      `field ${quote(path)}: the property ${name} of the type ${given.kind} must not be ${quote(given[name])}`,
    )
  }
  if (given.kind === 'dictionary') {
    checkType(given.value, path, depth + 1)
    const index = given.index as { readonly kind?: unknown }
    if (index.kind !== 'int')
      throw schemaMismatch(
        `field ${quote(path)}: the index type of a dictionary must have the kind int, got ${quote(index.kind)}`,
      )
    checkType(index, path, depth + 1)
    return
  }
  for (const child of childFields(given as unknown as DataType)) checkField(child, path, depth + 1)
}
