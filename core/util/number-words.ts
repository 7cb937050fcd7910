/** Describes an allowed number for messages: `an integer from 0 to 65535`, `a number from 0`. */
export function numberWords(
  type: 'int' | 'number',
  { min = -Infinity, max = Infinity }: { readonly min?: number; readonly max?: number },
): string {
  const from = min === -Infinity ? '' : ` from ${min}`
  const to = max === Infinity ? '' : `${from === '' ? ' up' : ''} to ${max}`
  return `${type === 'int' ? 'an integer' : 'a number'}${from}${to}`
}
