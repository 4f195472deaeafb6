/** The tags of one table: names for versions. */
import { type CallOptions, callShape, type Operations } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'

export class Tags {
  readonly #operations: Operations
  readonly #id: readonly string[]

  constructor(operations: Operations, id: readonly string[]) {
    this.#operations = operations
    this.#id = id
  }

  /** Throws code 9 when the tag exists, 11 when the version does not. */
  async create(tag: string, version: number, options: CallOptions = {}): Promise<void> {
    await this.#operations.createTableTag(
      { id: this.#id, tag, version },
      parse(callShape, options, 'tags.create'),
    )
  }

  /** Moves a tag. Throws code 8 when there is none, 11 when the version does not exist. */
  async update(tag: string, version: number, options: CallOptions = {}): Promise<void> {
    await this.#operations.updateTableTag(
      { id: this.#id, tag, version },
      parse(callShape, options, 'tags.update'),
    )
  }

  async delete(tag: string, options: CallOptions = {}): Promise<void> {
    await this.#operations.deleteTableTag({ id: this.#id, tag }, parse(callShape, options, 'tags.delete'))
  }

  /** The version a tag names. Throws code 8. */
  async version(tag: string, options: CallOptions = {}): Promise<number> {
    return (
      await this.#operations.getTableTagVersion(
        { id: this.#id, tag },
        parse(callShape, options, 'tags.version'),
      )
    ).version
  }

  /** All tags and the versions they name. */
  async list(options: CallOptions = {}): Promise<ReadonlyMap<string, number>> {
    const { tags } = await this.#operations.listTableTags(
      { id: this.#id },
      parse(callShape, options, 'tags.list'),
    )
    return new Map(Object.entries(tags).map(([tag, { version }]) => [tag, version]))
  }
}
