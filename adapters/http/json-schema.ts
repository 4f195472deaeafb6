/** Shapes as JSON Schemas (2020-12): what the normal form looks like; other forms are told in words. */
import type {
  ArrayShape,
  Field,
  Fields,
  IntegerShape,
  NamedShape,
  ObjectShape,
  Shape,
  StringShape,
} from '../../src/protocol/shape.js'

export type JsonSchema = Readonly<Record<string, unknown>>

/** Where schemas with a name are, in an OpenAPI document. */
const place = '#/components/schemas/'

export function referenceTo(name: string): JsonSchema {
  return { $ref: place + name }
}

/** Makes schemas. Those of shapes with a name are made once, and referred to. */
export class JsonSchemas {
  readonly named = new Map<string, JsonSchema>()
  #isClosed = false

  /** What `make` gives; objects in it have no other fields where they are `closed`. */
  closed<T>(closed: boolean, make: () => T): T {
    this.#isClosed = closed
    try {
      return make()
    } finally {
      this.#isClosed = false
    }
  }

  of(shape: Shape): JsonSchema {
    switch (shape.kind) {
      case 'string':
        return stringSchema(shape)
      case 'boolean':
      case 'number':
        return { type: shape.kind }
      case 'integer':
        return integerSchema(shape)
      case 'enumeration':
        return { type: 'string', enum: shape.values }
      case 'vector':
        return { type: 'array', items: { type: 'number' } }
      case 'array':
        return this.#array(shape)
      case 'tuple': {
        const prefixItems = shape.items.map(item => this.of(item))
        const { length } = prefixItems
        return { type: 'array', prefixItems, minItems: length, maxItems: length }
      }
      case 'record':
        return { type: 'object', additionalProperties: this.of(shape.value) }
      case 'object':
        return this.object(shape, [])
      case 'choice': {
        const names = Object.keys(shape.fields)
        return {
          type: 'object',
          properties: this.#properties(shape.fields),
          oneOf: names.map(name => ({ required: [name] })),
          ...(this.#isClosed && { additionalProperties: false }),
        }
      }
      case 'nullable':
        return { anyOf: [this.of(shape.shape), { type: 'null' }] }
      case 'accept': {
        const schema = this.of(shape.shape)
        return shape.forms === '' ? schema : { ...schema, description: `Other forms: ${shape.forms}.` }
      }
      case 'named':
        return this.#reference(shape)
      case 'json':
        return shape.demand === 'any' ? {} : { type: ['array', 'object'] }
      case 'options':
      case 'either':
      case 'given':
        throw new Error(`${shape.kind}: options of the library do not travel`)
    }
  }

  /** The schema of an object in which `known` fields may be absent: the request says them elsewhere. */
  object({ fields, rules }: ObjectShape, known: readonly string[]): JsonSchema {
    const required = Object.keys(fields).filter(name => fields[name]!.required && !known.includes(name))
    const { exactlyOne, atLeastOne, apart = [] } = rules
    const others = apart.map(pair => ({ not: { required: pair } }))
    return {
      type: 'object',
      properties: this.#properties(fields),
      ...(required.length > 0 && { required }),
      ...(exactlyOne !== undefined && { oneOf: exactlyOne.map(name => ({ required: [name] })) }),
      ...(atLeastOne !== undefined && { anyOf: atLeastOne.map(name => ({ required: [name] })) }),
      ...(others.length > 0 && { allOf: others }),
      ...(this.#isClosed && { additionalProperties: false }),
    }
  }

  #properties(fields: Fields): JsonSchema {
    const described = Object.entries(fields).flatMap(([name, field]) => [
      [name, this.field(field)],
      ...field.also.map(other => [other, { ...this.field(field), description: `The same as \`${name}\`.` }]),
    ])
    return Object.fromEntries(described)
  }

  /** The schema of a field, with what it means. */
  field({ shape, doc }: Field): JsonSchema {
    const schema = this.of(shape)
    const { description } = schema
    return { ...schema, description: description === undefined ? doc : `${doc} ${description}` }
  }

  #array({ item, min }: ArrayShape): JsonSchema {
    return { type: 'array', items: this.of(item), ...(min > 0 && { minItems: min }) }
  }

  #reference({ name, shape }: NamedShape): JsonSchema {
    if (!this.named.has(name)) {
      // Known before it is made: it may refer to itself.
      this.named.set(name, {})
      this.named.set(name, this.of(shape()))
    }
    return referenceTo(name)
  }
}

function stringSchema({ demand }: StringShape): JsonSchema {
  switch (demand) {
    case 'any':
      return { type: 'string' }
    case 'nonEmpty':
      return { type: 'string', minLength: 1 }
    case 'nonBlank':
      return { type: 'string', pattern: '\\S' }
  }
}

/** What is larger than the most means the most, where the shape says so; beyond 2^53 - 1 no number is exact. */
function integerSchema({ min, max, saturates }: IntegerShape): JsonSchema {
  const isBounded = !saturates && max < Number.MAX_SAFE_INTEGER
  return { type: 'integer', minimum: min, ...(isBounded && { maximum: max }) }
}
