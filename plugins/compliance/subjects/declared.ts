import { valueAt } from '../encryption/envelope.js'

/** Maximum number of subjects per job, and maximum length of a subject id. */
export const mostSubjects = 50
const longestId = 200

/** Paths of the data fields that identify subjects, by queue. */
export type Declarations = Readonly<Record<string, readonly string[]>>

/** The plugin `workers` keeps permanently failed jobs in `<queue>-dead`, with their data in a field `data`. */
const deadSuffix = '-dead'

/** Returns the queue whose dead letters a queue contains; undefined for any other queue. */
export function originOf(queue: string): string | undefined {
  return queue.endsWith(deadSuffix) ? queue.slice(0, -deadSuffix.length) : undefined
}

export function deadLettersOf(queue: string): string {
  return `${queue}${deadSuffix}`
}

/** Returns the paths declared for a queue, or for the queue whose dead letters it contains. */
export function pathsOf(declarations: Declarations, queue: string): readonly string[] {
  if (Object.hasOwn(declarations, queue)) return declarations[queue] ?? []
  const origin = originOf(queue)
  if (origin === undefined || !Object.hasOwn(declarations, origin)) return []
  return (declarations[origin] ?? []).map((path) => `data.${path}`)
}

/** Returns the subjects in the data of a job: strings and numbers, also in lists. */
export function subjectsIn(data: unknown, paths: readonly string[]): readonly string[] {
  const found = paths.flatMap((path) => [valueAt(data, path)].flat()).map((value) => (typeof value === 'number' ? String(value) : value))
  return [...new Set(found.filter(isSubject))]
}

export function isSubject(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= longestId && !value.includes('\0')
}
