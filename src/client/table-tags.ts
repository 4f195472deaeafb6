/** The tags of a table. A tag is a name for a version. */
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callShape, type Operations } from '../protocol/calls.js'
import { checkTagName } from '../protocol/identifiers.js'
import { parse } from '../protocol/parse.js'
import { integer, string } from '../protocol/shape.js'

/** The tags of a table. A tag is a name for a version. Tagged versions do not expire. */
export class Tags {
  readonly #operations: Operations
  readonly #id: readonly string[]

  constructor(operations: Operations, id: readonly string[]) {
    this.#operations = operations
    this.#id = id
  }

  /**
   * Create a tag for a version. Throws `TagAlreadyExists` if the tag exists, and `TableVersionNotFound` if the version
   * does not exist.
   */
  async create(tag: string, version: number, options: CallOptions = {}): Promise<void> {
    const call = parse(callShape, options, 'tags.create')
    const named = {
      tag: parse(string('nonEmpty', checkTagName), tag, 'tags.create: the tag'),
      version: parse(integer(0), version, 'tags.create: the version'),
    }
    await this.#operations.createTableTag({ id: this.#id, ...named }, call)
  }

  /**
   * Move a tag to another version. Throws `TagNotFound` if the tag does not exist, and `TableVersionNotFound` if the
   * version does not exist.
   */
  async update(tag: string, version: number, options: CallOptions = {}): Promise<void> {
    const call = parse(callShape, options, 'tags.update')
    const named = {
      tag: tagOf('update', tag),
      version: parse(integer(0), version, 'tags.update: the version'),
    }
    await this.#operations.updateTableTag({ id: this.#id, ...named }, call)
  }

  /** Delete a tag. Throws `TagNotFound` if the tag does not exist. */
  async delete(tag: string, options: CallOptions = {}): Promise<void> {
    const call = parse(callShape, options, 'tags.delete')
    await this.#operations.deleteTableTag({ id: this.#id, tag: tagOf('delete', tag) }, call)
  }

  /** Return the version that a tag names. Throws `TagNotFound` if the tag does not exist. */
  async version(tag: string, options: CallOptions = {}): Promise<number> {
    const call = parse(callShape, options, 'tags.version')
    const request = { id: this.#id, tag: tagOf('version', tag) }
    return (await this.#operations.getTableTagVersion(request, call)).version
  }

  /** Return a map from the name of each tag to its version. */
  async list(options: CallOptions = {}): Promise<ReadonlyMap<string, number>> {
    const { tags } = await this.#operations.listTableTags(
      { id: this.#id },
      parse(callShape, options, 'tags.list'),
    )
    return new Map(Object.entries(tags).map(([tag, { version }]) => [tag, version]))
  }
}

takeNoMore(Tags.prototype, { create: 3, update: 3, delete: 2, version: 2, list: 1 })

function tagOf(call: string, tag: string): string {
  return parse(string('nonEmpty'), tag, `tags.${call}: the tag`)
}
