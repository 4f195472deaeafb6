/**
 * Functions whose calls are replaced by other expressions at bind time. The replacement depends on the types and
 * constants of the arguments, so these functions need no kernel.
 */
import type { DataType } from '../../arrow/types.js'
import { invalidInput, quote, type SourceSpan, schemaMismatch } from '../../errors.js'
import type { Bound } from '../bound.js'
import { formatArrowType, parseArrowType } from '../values/arrow-type.js'
import { literalOf } from '../values/literal.js'
import { LiteralNode } from '../values/literal-node.js'
import { floorDivide, nanosPerDay } from '../values/temporal.js'
import { dateType, timestampType, valueType } from '../values/types.js'
import { asked, cast, describe, unified } from './build.js'
import { conditional, isLiteral, negated } from './logic.js'

/** A function call that is being bound. */
export interface RewriteCall {
  readonly args: readonly Bound[]
  readonly at: SourceSpan
  /** Returns the current time in nanoseconds since 1970. All calls in one expression get the same time. */
  readonly now: () => bigint
  readonly list: (elements: readonly Bound[]) => Bound
  readonly element: (operand: Bound, index: Bound) => Bound
}

interface Rewrite {
  /** An example call for error messages. */
  readonly usage: string
  /** Required number of arguments. Null: any number. */
  readonly count: number | null
  readonly run: (call: RewriteCall) => Bound
}

const now: Rewrite = {
  usage: 'now()',
  count: 0,
  run: call => new LiteralNode(timestampType('ns', '+00:00'), call.now()),
}
const currentDate: Rewrite = {
  usage: 'current_date()',
  count: 0,
  run: call => new LiteralNode(dateType, floorDivide(call.now(), nanosPerDay)),
}
const makeArray: Rewrite = {
  usage: 'make_array(value, ...)',
  count: null,
  run: ({ args, list }) => list(args),
}
const timeType: DataType = { kind: 'time', unit: 'ns' }

const rewrites: Readonly<Record<string, Rewrite>> = {
  now,
  current_timestamp: now,
  current_date: currentDate,
  today: currentDate,
  current_time: {
    usage: 'current_time()',
    count: 0,
    run: call => new LiteralNode(timeType, call.now() % nanosPerDay),
  },
  arrow_typeof: {
    usage: 'arrow_typeof(value)',
    count: 1,
    run: ({ args }) => literalOf(formatArrowType(args[0]!.type)),
  },
  arrow_cast: { usage: "arrow_cast(value, 'Int8')", count: 2, run: call => arrowCast(call, false) },
  arrow_try_cast: { usage: "arrow_try_cast(value, 'Int8')", count: 2, run: call => arrowCast(call, true) },
  is_valid: { usage: 'is_valid(value)', count: 1, run: ({ args }) => negated(asked(args[0]!, 'null')) },
  nvl2: { usage: 'nvl2(value, if_not_null, if_null)', count: 3, run: nvl2 },
  make_array: makeArray,
  make_list: makeArray,
  timezone: { usage: "timezone('Europe/Berlin', timestamp)", count: 2, run: inZone },
  get_field: { usage: "get_field(struct, 'name')", count: 2, run: getField },
}

/** Names of the functions whose calls are replaced at bind time. */
export const rewriteNames: readonly string[] = Object.keys(rewrites)

/** Functions that can be called without parentheses, unless a column has their name. */
export const bareCalls: readonly string[] = ['current_date', 'current_time', 'current_timestamp']

/**
 * Return the expression that replaces a call of the function `name` (in any case). Return null if calls of this
 * function are not replaced.
 */
export function rewritten(name: string, call: RewriteCall): Bound | null {
  const folded = name.toLowerCase()
  if (!Object.hasOwn(rewrites, folded)) return null
  const { usage, count, run } = rewrites[folded]!
  if (count !== null && call.args.length !== count) {
    throw schemaMismatch(`${folded} takes ${count} arguments, not ${call.args.length}`, {
      hint: `write ${usage}`,
      at: call.at,
    })
  }
  return run(call)
}

function arrowCast({ args, at }: RewriteCall, isTry: boolean): Bound {
  const [operand, name] = args as [Bound, Bound]
  const written = isLiteral(name) && typeof name.value === 'string' ? name.value : null
  const type = written === null ? null : parseArrowType(written)
  if (type !== null) return cast(operand, type, isTry, at)
  throw invalidInput(
    `${written === null ? describe(name) : quote(written)} is not the name of an Arrow type`,
    {
      hint: "write for example 'Int8', 'Timestamp(Nanosecond, None)' or 'List(Utf8)'",
      at,
    },
  )
}

/**
 * Bind AT TIME ZONE as PostgreSQL does. A timestamp without a zone is read as a local time of the named zone and
 * becomes an instant. A timestamp with a zone becomes the local time in the named zone.
 */
function inZone({ args, at }: RewriteCall): Bound {
  const [zone, value] = args as [Bound, Bound]
  const type = valueType(value.type)
  const hint = "write timestamp AT TIME ZONE 'Europe/Berlin'"
  if (type.kind !== 'timestamp' && type.kind !== 'null') {
    throw schemaMismatch(`AT TIME ZONE takes a timestamp, not ${describe(value)}`, { hint, at })
  }
  if (!isLiteral(zone) || typeof zone.value !== 'string') {
    throw invalidInput(`the zone of AT TIME ZONE must be a constant text, not ${describe(zone)}`, {
      hint,
      at,
    })
  }
  const { unit, timezone } = type.kind === 'null' ? { unit: 'us' as const, timezone: null } : type
  const zoned = cast(value, timestampType(unit, zone.value), false, at)
  return timezone === null ? zoned : cast(zoned, timestampType(unit), false, at)
}

function nvl2({ args, at }: RewriteCall): Bound {
  const [value, some, none] = args as [Bound, Bound, Bound]
  const results = unified([some, none])
  if (results === null) {
    throw schemaMismatch(
      `the results of nvl2 must have one type, not ${describe(some)} and ${describe(none)}`,
      { at },
    )
  }
  const [result, otherwise] = results.nodes as [Bound, Bound]
  return conditional(results.type, [{ when: negated(asked(value, 'null')), result }], otherwise)
}

function getField({ args, at, element }: RewriteCall): Bound {
  const [operand, name] = args as [Bound, Bound]
  if (valueType(operand.type).kind === 'struct' && isLiteral(name) && typeof name.value === 'string') {
    return element(operand, name)
  }
  throw schemaMismatch(`get_field does not take ${describe(operand)} and ${describe(name)}`, {
    hint: "write get_field(struct, 'name')",
    at,
  })
}
