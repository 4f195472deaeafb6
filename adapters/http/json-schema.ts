/**
 * Converts shapes to JSON Schemas (2020-12). A schema describes the normal form of a value. Its description lists the
 * other accepted forms.
 */
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

/** Path of the named schemas in an OpenAPI document. */
const place = '#/components/schemas/'

export function referenceTo(name: string): JsonSchema {
  return { $ref: place + name }
}

/** Builds schemas. A named shape becomes one named schema, to which other schemas refer. */
export class JsonSchemas {
  readonly named = new Map<string, JsonSchema>()
  #isClosed = false

  /**
   * Run `make` and return its result. `closed`: whether the objects in schemas that `make` builds forbid unknown
   * fields.
   */
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
        throw new Error(
          `a shape of kind ${shape.kind} is only for options of the library, and has no JSON Schema`,
        )
    }
  }

  /**
   * Return the schema of an object. `known`: fields that are not required here, because the request has them in its
   * path.
   */
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

  /** Return the schema of a field, with the description of the field. */
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
      // Register the name before the schema is built, because the schema may refer to itself.
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

/**
 * Return the schema of an integer. It has no maximum if the shape reduces larger integers to its own maximum. It also
 * has none from 2^53 - 1 on, because larger doubles are not exact.
 */
function integerSchema({ min, max, saturates }: IntegerShape): JsonSchema {
  const isBounded = !saturates && max < Number.MAX_SAFE_INTEGER
  return { type: 'integer', minimum: min, ...(isBounded && { maximum: max }) }
}
