import { valueAt } from '../encryption/envelope.js'

/** Most subjects of one job, and the longest id of one. */
const mostSubjects = 50
const longestId = 200

/** By queue: the paths of the fields that name a subject. */
export type Declarations = Readonly<Record<string, readonly string[]>>

/** The plugin `workers` keeps jobs that failed for good in `<queue>-dead`, with their data in a field `data`. */
const deadSuffix = '-dead'

/** The queue whose dead letters a queue holds; undefined for any other. */
export function originOf(queue: string): string | undefined {
  return queue.endsWith(deadSuffix) ? queue.slice(0, -deadSuffix.length) : undefined
}

export function deadLettersOf(queue: string): string {
  return `${queue}${deadSuffix}`
}

/** The paths of a queue: those that are declared for it, or for the queue whose dead letters it holds. */
export function pathsOf(declarations: Declarations, queue: string): readonly string[] {
  if (Object.hasOwn(declarations, queue)) return declarations[queue] ?? []
  const origin = originOf(queue)
  if (origin === undefined || !Object.hasOwn(declarations, origin)) return []
  return (declarations[origin] ?? []).map((path) => `data.${path}`)
}

/** The subjects that the data of a job name: text and numbers, also in lists. */
export function subjectsIn(data: unknown, paths: readonly string[]): readonly string[] {
  const found = paths.flatMap((path) => [valueAt(data, path)].flat()).map((value) => (typeof value === 'number' ? String(value) : value))
  return [...new Set(found.filter(isSubject))].slice(0, mostSubjects)
}

export function isSubject(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= longestId && !value.includes('\0')
}
