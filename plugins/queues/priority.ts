export type PriorityName = 'Critical' | 'High' | 'Normal' | 'Low'

const levels: Readonly<Record<PriorityName, number>> = { Critical: 10, High: 5, Normal: 1, Low: 0 }

/** The level of a priority given by name or number; undefined for anything else. */
export function priorityOf(value: unknown): number | undefined {
  if (typeof value === 'string') {
    const name = value.charAt(0).toUpperCase() + value.slice(1).toLowerCase()
    return Object.hasOwn(levels, name) ? levels[name as PriorityName] : undefined
  }
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 10 ? (value as number) : undefined
}

/**
 * BullMQ's number for a level. In BullMQ, 1 is the most urgent and larger numbers run later, the reverse of our levels. Steps of ten leave
 * room between levels. 0 is not used, because BullMQ runs it before everything else.
 */
export function bullPriority(priority: number): number {
  return 1 + (10 - priority) * 10
}

/** The level nearest to BullMQ's number. Null for a job without a priority, which runs before all levels. */
export function levelOf(bull: number): number | null {
  return bull === 0 ? null : Math.max(0, 10 - Math.round((bull - 1) / 10))
}
