/** Keys that BullMQ keeps beside the jobs of a queue on Redis; a test compares them with BullMQ's. A job with such an id would destroy its queue. */
const reserved: ReadonlySet<string> = new Set([
  ...['active', 'wait', 'waiting-children', 'paused', 'id', 'delayed', 'prioritized', 'stalled-check', 'completed', 'failed', 'stalled'],
  ...['repeat', 'limiter', 'meta', 'events', 'pc', 'marker', 'de'],
])

const mostCharacters = 200

/** Why a job cannot have an id that its producer chose, to follow "its id"; undefined if the id works on every store and route. Pure. */
export function jobIdFault(id: string): string | undefined {
  if (id === '') return 'is empty'
  if (id.length > mostCharacters) return `is longer than ${mostCharacters} characters`
  if (/[\p{Cc}\p{Surrogate}\ufeff]/u.test(id)) return 'contains a control character, a byte order mark or a lone surrogate'
  if (id.includes(':')) return 'contains a colon, which separates the parts of keys'
  if (/^-?\d+$/.test(id)) return 'is a number, like the ids that the queue assigns'
  if (isTakenForNumber(id)) return `is "${id}", which the queue store takes for a number`
  if (isUnaddressable(id)) return `is "${id}", which stands for something else in URLs or in the queue store`
  return undefined
}

/** Whether an id may be that of a stored job: one that `jobIdFault` accepts, or that the queue assigned. Pure. */
export function isJobId(id: string): boolean {
  return id !== '' && id.length <= mostCharacters && !id.includes('\0') && !isUnaddressable(id)
}

/** BullMQ refuses the first kind, and takes the second one for an error code of Redis once it has added the job. */
const isTakenForNumber = (id: string): boolean => String(Number.parseInt(id, 10)) === id || Number(id) < 0

const isUnaddressable = (id: string): boolean => id === '.' || id === '..' || reserved.has(id)
