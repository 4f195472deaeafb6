/**
 * A model of versions and tags, as fast-check commands: versions only grow, a version read later gives the rows it
 * had, a tag always names a version that exists, and moves of a tag are atomic.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Table } from '../../src/index.js'
import type { OpenedNamespace } from './namespace.js'

interface Model {
  /** Ids of the rows of every version, by version - 1. */
  readonly versions: number[][]
  readonly tags: Map<string, number>
  nextId: number
}

type Command = fc.AsyncCommand<Model, Table>

const tagNames = ['a', 'b'] as const
const latest = (model: Model) => model.versions.at(-1)!
const idsOf = async (table: Table) => (await table.query().select(['id']).toArray()).map(row => row.id)

class Add implements Command {
  constructor(
    readonly rows: number,
    readonly mode: 'append' | 'overwrite',
  ) {}
  check = () => true
  async run(model: Model, table: Table) {
    const ids = Array.from({ length: this.rows }, () => model.nextId++)
    const { version } = await table.add(
      ids.map(id => ({ id })),
      { mode: this.mode },
    )
    expect(version).toBe(model.versions.length + 1)
    model.versions.push(this.mode === 'append' ? [...latest(model), ...ids] : ids)
  }
  toString = () => `add(${this.rows}, ${this.mode})`
}

class Delete implements Command {
  constructor(readonly divisor: number) {}
  check = () => true
  async run(model: Model, table: Table) {
    const kept = latest(model).filter(id => id % this.divisor !== 0)
    const { rows, version } = await table.delete(`id % ${this.divisor} = 0`)
    expect(rows).toBe(latest(model).length - kept.length)
    if (rows > 0) model.versions.push(kept)
    expect(version).toBe(model.versions.length)
  }
  toString = () => `delete(${this.divisor})`
}

class Read implements Command {
  constructor(readonly pick: number) {}
  check = () => true
  async run(model: Model, table: Table) {
    const version = 1 + (this.pick % model.versions.length)
    expect(await idsOf(await table.checkout(version))).toEqual(model.versions[version - 1])
    expect(await idsOf(table)).toEqual(latest(model))
    expect((await table.versions()).map(({ version }) => version)).toEqual(
      model.versions.map((_, i) => i + 1),
    )
  }
  toString = () => `read(${this.pick})`
}

class SetTag implements Command {
  constructor(
    readonly how: 'create' | 'update',
    readonly tag: string,
    readonly pick: number,
  ) {}
  check = () => true
  async run(model: Model, table: Table) {
    // One past the newest is a version that does not exist.
    const version = 1 + (this.pick % (model.versions.length + 1))
    const exists = model.tags.has(this.tag)
    const call = table.tags[this.how](this.tag, version)
    if (exists === (this.how === 'create')) {
      await expect(call).rejects.toMatchObject({ code: exists ? 9 : 8 })
    } else if (version > model.versions.length) {
      await expect(call).rejects.toMatchObject({ code: 11 })
    } else {
      await call
      model.tags.set(this.tag, version)
    }
    await checkTags(model, table)
  }
  toString = () => `${this.how}Tag(${this.tag}, ${this.pick})`
}

class DeleteTag implements Command {
  constructor(readonly tag: string) {}
  check = () => true
  async run(model: Model, table: Table) {
    const call = table.tags.delete(this.tag)
    if (model.tags.delete(this.tag)) await call
    else await expect(call).rejects.toMatchObject({ code: 8 })
    await checkTags(model, table)
  }
  toString = () => `deleteTag(${this.tag})`
}

/** Many move one tag at once while others read it: every read sees one of the moves, whole. */
class RaceTag implements Command {
  constructor(
    readonly tag: string,
    readonly picks: readonly number[],
  ) {}
  check = (model: Readonly<Model>) => model.tags.has(this.tag)
  async run(model: Model, table: Table) {
    const targets = this.picks.map(pick => 1 + (pick % model.versions.length))
    const seen: number[] = []
    const read = async () => seen.push(await table.tags.version(this.tag))
    await Promise.all(targets.flatMap(version => [table.tags.update(this.tag, version), read()]))
    const possible = new Set([model.tags.get(this.tag)!, ...targets])
    for (const version of seen) expect(possible).toContain(version)
    const final = await table.tags.version(this.tag)
    expect(targets).toContain(final)
    model.tags.set(this.tag, final)
  }
  toString = () => `raceTag(${this.tag}, ${this.picks})`
}

async function checkTags(model: Model, table: Table): Promise<void> {
  const tags = await table.tags.list()
  expect(tags).toEqual(new Map([...model.tags].sort()))
  for (const [tag, version] of tags) {
    expect(version).toBeLessThanOrEqual(model.versions.length)
    expect(await idsOf(await table.checkout(tag))).toEqual(model.versions[version - 1])
  }
}

const pick = fc.nat(1000)
const tag = fc.constantFrom(...tagNames)
const commands = fc.commands(
  [
    fc
      .tuple(fc.nat(4), fc.constantFrom('append' as const, 'overwrite' as const))
      .map(([n, mode]) => new Add(n, mode)),
    fc.integer({ min: 2, max: 5 }).map(divisor => new Delete(divisor)),
    pick.map(version => new Read(version)),
    fc.tuple(tag, pick).map(([name, version]) => new SetTag('create', name, version)),
    fc.tuple(tag, pick).map(([name, version]) => new SetTag('update', name, version)),
    tag.map(name => new DeleteTag(name)),
    fc
      .tuple(tag, fc.array(pick, { minLength: 1, maxLength: 5 }))
      .map(([name, picks]) => new RaceTag(name, picks)),
  ],
  { maxCommands: 30 },
)

/** `runs`: histories to try; each gets a namespace of its own. */
export function versionsAndTagsModel(name: string, open: () => Promise<OpenedNamespace>, runs: number): void {
  test(`${name}: versions and tags behave like their model`, async () => {
    await fc.assert(
      fc.asyncProperty(commands, async history => {
        const { ns, close } = await open()
        try {
          const table = await ns.createTable('t', [{ id: 0 }])
          const model: Model = { versions: [[0]], tags: new Map(), nextId: 1 }
          await fc.asyncModelRun(() => ({ model, real: table }), history)
          await checkTags(model, table)
          expect(await idsOf(await table.checkout(1))).toEqual(model.versions[0])
        } finally {
          await close()
        }
      }),
      { numRuns: runs },
    )
  })
}
