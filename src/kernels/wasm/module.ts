/** Exports the functions that JavaScript may call. The module is instantiated once per memory. */
export { measureList, measureRange } from './distance'
export { search, sumWords } from './exact'
export { assignRows, assignShorts, nearPairs } from './clusters'
export { closeNearest, heldNearest, offerNearest, openNearest, scanBits, scanBytes, scanFloats } from './lists'
export { graphClose, graphEnter, graphInsert, graphOpen, graphSeed } from './graph'
export { encodeSigns, rotate, scanSigns, tabulateSigns } from './binary'
export { roundTables, scanNibbles } from './fast-scan'
export { nearestColumns, scanCodes, squareColumns } from './product'
