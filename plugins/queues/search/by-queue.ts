/** Groups by the name of a queue. Pure. */
export function byQueue<T>(items: readonly T[], queueOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const queue = queueOf(item)
    const group = groups.get(queue)
    if (group === undefined) groups.set(queue, [item])
    else group.push(item)
  }
  return groups
}
