interface Dependent {
  readonly name: string
  readonly dependencies: readonly string[]
}

/**
 * Sorts items so that each follows its dependencies, and otherwise keeps the given order; or returns a cycle, as a path that ends where it
 * began. Ignores dependencies that are not among the items.
 */
export function inDependencyOrder<T extends Dependent>(
  items: readonly T[],
): { readonly order: readonly T[] } | { readonly cycle: readonly string[] } {
  const byName = new Map(items.map((item) => [item.name, item]))
  const order: T[] = []
  const done = new Set<string>()
  const path: string[] = []
  const visit = (item: T): readonly string[] | undefined => {
    if (done.has(item.name)) return undefined
    const start = path.indexOf(item.name)
    if (start >= 0) return [...path.slice(start), item.name]
    path.push(item.name)
    for (const name of item.dependencies) {
      const next = byName.get(name)
      const cycle = next && visit(next)
      if (cycle !== undefined) return cycle
    }
    path.pop()
    done.add(item.name)
    order.push(item)
    return undefined
  }
  for (const item of items) {
    const cycle = visit(item)
    if (cycle !== undefined) return { cycle }
  }
  return { order }
}
