/**
 * Returns the duplicate keys of objects in a JSON text, as paths such as `statements.user`. `JSON.parse` silently keeps the last one. The
 * text must be valid JSON.
 */
export function duplicateKeys(json: string): readonly string[] {
  const found: string[] = []
  /** One entry for each open object or array; only objects have `keys`. */
  const open: { readonly keys?: Set<string>; name: string; expectsKey: boolean }[] = []
  const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g
  for (const [token] of json.matchAll(tokens)) {
    const top = open.at(-1)
    if (token === '{') open.push({ keys: new Set(), name: '', expectsKey: true })
    else if (token === '[') open.push({ name: '', expectsKey: false })
    else if (token === '}' || token === ']') open.pop()
    else if (top === undefined || top.keys === undefined || token === ':') continue
    else if (token === ',') top.expectsKey = true
    else if (top.expectsKey) {
      top.name = JSON.parse(token) as string
      top.expectsKey = false
      if (top.keys.has(top.name)) found.push(open.map(({ name }) => name).join('.'))
      top.keys.add(top.name)
    }
  }
  return found
}
