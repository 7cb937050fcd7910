export type PriorityName = 'Critical' | 'High' | 'Normal' | 'Low'

const levels: Readonly<Record<PriorityName, number>> = { Critical: 10, High: 5, Normal: 1, Low: 0 }

/** The number of a priority given by name or number; undefined when it is neither. */
export function priorityOf(value: unknown): number | undefined {
  if (typeof value === 'string') {
    const name = value.charAt(0).toUpperCase() + value.slice(1).toLowerCase()
    return Object.hasOwn(levels, name) ? levels[name as PriorityName] : undefined
  }
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 10 ? (value as number) : undefined
}

/**
 * BullMQ's number of a priority. There 1 is the most urgent and more is later, the reverse of ours;
 * steps of ten leave room between levels. 0 is not used: BullMQ serves it before everything else.
 */
export function bullPriority(priority: number): number {
  return 1 + (10 - priority) * 10
}

/** The level that BullMQ's number is nearest to. Null for a job without one: it runs before all levels. */
export function levelOf(bull: number): number | null {
  return bull === 0 ? null : Math.max(0, 10 - Math.round((bull - 1) / 10))
}
