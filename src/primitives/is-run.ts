/** Whether numbers follow each other, each one more than the one before. */
export function isRun(numbers: Uint32Array): boolean {
  for (let i = 1; i < numbers.length; i++) if (numbers[i] !== numbers[i - 1]! + 1) return false
  return numbers.length > 0
}
