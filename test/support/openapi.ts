/** OpenAPI documents in tests: the Lance Namespace's, and schemas of any against which values are held. */
import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { dataPath } from '../../scripts/data.js'

// biome-ignore lint/suspicious/noExplicitAny: documents are walked as they come
export type Document = any

const path = dataPath('../spec/lance-namespace-0.11.1.yaml')

/** The document of the Lance Namespace; null where it is not on this machine. */
export const specification: Document | null = path === null ? null : parse(readFileSync(path, 'utf8'))

/** For `context.skip` of tests that need it. */
export const withoutSpecification = 'the OpenAPI document is not on this machine'

/** What a node of a document stands for: itself, or what it refers to. */
export function resolved(document: Document, node: Document): Document {
  if (node?.$ref === undefined) return node
  const steps = (node.$ref as string).slice('#/'.length).split('/')
  return resolved(
    document,
    steps.reduce((at, step) => at[step], document),
  )
}

/** Properties of an object schema, and those that must be there, with all that it is put together of. */
export function fieldsOf(document: Document, node: Document): { names: string[]; required: string[] } {
  const { properties = {}, required = [], allOf = [] } = resolved(document, node) ?? {}
  const parts = (allOf as Document[]).map(part => fieldsOf(document, part))
  return {
    names: [...Object.keys(properties), ...parts.flatMap(({ names }) => names)],
    required: [...required, ...parts.flatMap(part => part.required)],
  }
}

/** Says what is wrong with values, by the schemas of a document; null: nothing. */
export class DocumentSchemas {
  readonly #ajv: Ajv2020
  readonly #made = new Map<string, ValidateFunction>()

  constructor(document: Document) {
    this.#ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
    this.#ajv.addSchema({ $id: 'document', ...withoutLooseNullable(document) })
  }

  /** `pointer`: of a schema in the document, as `/components/schemas/Error`. */
  complaint(pointer: string, value: unknown): string | null {
    let validate = this.#made.get(pointer)
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: `document#${pointer}` })
      this.#made.set(pointer, validate)
    }
    return validate(value) ? null : this.#ajv.errorsText(validate.errors)
  }
}

/** `nullable` beside a reference is a relic of OpenAPI 3.0 that no validator knows. */
function withoutLooseNullable(node: Document): Document {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map(withoutLooseNullable)
  const { nullable: _, ...rest } = node
  const kept = node.nullable === true && node.type === undefined ? rest : node
  return Object.fromEntries(Object.entries(kept).map(([key, value]) => [key, withoutLooseNullable(value)]))
}

export function pascalCase(name: string): string {
  return name[0]!.toUpperCase() + name.slice(1)
}
