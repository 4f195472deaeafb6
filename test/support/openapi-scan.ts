/** Reads just enough of an OpenAPI document in YAML to compare it with the table of operations: it counts indents. */

export interface ScannedOperation {
  readonly path: string
  readonly method: string
  readonly operationId: string
}

export interface ScannedSchema {
  readonly properties: readonly string[]
  readonly required: readonly string[]
}

export function scanOperations(yaml: string): ScannedOperation[] {
  const found: ScannedOperation[] = []
  let path = ''
  let method = ''
  for (const line of section(yaml, 'paths')) {
    const [, indent, key, value] = /^( *)([^\s:]+): *(.*)$/.exec(line) ?? []
    if (indent?.length === 2) path = key!
    else if (indent?.length === 4) method = key!.toUpperCase()
    else if (indent?.length === 6 && key === 'operationId') found.push({ path, method, operationId: value! })
  }
  return found
}

export function scanSchemas(yaml: string): Map<string, ScannedSchema> {
  const found = new Map<string, ScannedSchema>()
  let part = ''
  let block = ''
  let schema = { properties: [] as string[], required: [] as string[] }
  for (const line of section(yaml, 'components')) {
    const [, indent, dash, key] = /^( *)(- )?["']?([\w-]+)["']?(?::.*)?$/.exec(line) ?? []
    if (indent === undefined) continue
    const depth = indent.length
    if (depth === 2) part = key!
    if (part !== 'schemas') continue
    if (depth === 4) {
      schema = { properties: [], required: [] }
      found.set(key!, schema)
    } else if (depth === 6 && dash === undefined) block = key!
    else if (depth === 8 && block === 'properties') schema.properties.push(key!)
    else if (depth === 8 && block === 'required' && dash !== undefined) schema.required.push(key!)
  }
  return found
}

function section(yaml: string, name: string): string[] {
  const lines = yaml.split('\n')
  const start = lines.indexOf(`${name}:`) + 1
  const length = lines.slice(start).findIndex(line => /^\S/.test(line))
  return lines.slice(start, length === -1 ? undefined : start + length)
}
