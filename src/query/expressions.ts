/** The functions of `sql/` that plan expressions. `binding.ts` imports them lazily. */
export {
  aggregateOption,
  aggregateType,
  containsAggregate,
  replaceNames,
  splitAggregates,
} from '../sql/binding/aggregates.js'
export { bindCondition, bindExpression, bindFilter, parseFilter } from '../sql/binding/bind.js'
export { printBound } from '../sql/print.js'
