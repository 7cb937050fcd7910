/**
 * Parses a query string like Koa: a repeated name becomes an array. Koa's parser is quadratic in the number of names.
 */
export function parseQuery(querystring: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {}
  if (querystring === '') return query
  for (const [name, value] of new URLSearchParams(querystring)) {
    if (name === '__proto__') continue
    const earlier = Object.hasOwn(query, name) ? query[name] : undefined
    if (earlier === undefined) query[name] = value
    else if (typeof earlier === 'string') query[name] = [earlier, value]
    else earlier.push(value)
  }
  return query
}
