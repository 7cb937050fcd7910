import type { Job } from 'bullmq'
import { monitorErrors } from '../errors.js'

const fields = ['id', 'name', 'error'] as const

/** A search term: text in a specific field or in any field. */
export interface Term {
  readonly field: (typeof fields)[number] | 'any'
  readonly text: string
}

/** A parsed search; a job must match all of it. */
export interface Terms {
  readonly terms: readonly Term[]
  /** Values by the path of a declared data field. */
  readonly values: Readonly<Record<string, string>>
}

const word = /(?:(?:[a-z]+|data\.[\w$.-]+):)?"[^"]*"|\S+/g

/** Parses a search such as `name:welcome error:timeout data.customer.id:7 42`; quotes keep spaces. Throws INVALID_JOB_FILTER. Pure. */
export function termsOf(q: string): Terms {
  const terms: Term[] = []
  const values: Record<string, string> = {}
  const plain = (text: string): string => text.replace(/^"(.*)"$/s, '$1')
  for (const one of q.match(word) ?? []) {
    const [, prefix, rest = ''] = /^([\w$.-]+):(.*)$/s.exec(one) ?? []
    const field = fields.find((name) => name === prefix)
    const [, path] = /^data\.([\w$-]+(?:\.[\w$-]+)*)$/.exec(prefix ?? '') ?? []
    if (path === undefined) terms.push({ field: field ?? 'any', text: plain(field === undefined ? one : rest).toLowerCase() })
    else if (Object.hasOwn(values, path)) throw monitorErrors.INVALID_JOB_FILTER(`q contains data.${path} twice`)
    else values[path] = plain(rest)
  }
  const texts = [...terms.map(({ text }) => text), ...Object.values(values)]
  if (texts.length === 0 || texts.includes('')) {
    throw monitorErrors.INVALID_JOB_FILTER('q has an empty term; use words, name:…, error:…, id:… or data.<path>:…')
  }
  return { terms, values }
}

/**
 * Returns a function that tells whether a job matches all terms. `shown` returns the error of a job as the caller sees it; without it, no term
 * matches an error. Pure.
 */
export function matcher(
  terms: readonly Term[],
  shown: ((error: string) => string) | undefined,
): (job: Pick<Job, 'id' | 'name' | 'failedReason'>) => boolean {
  return ({ failedReason, id = '', name }) => {
    const texts = { id, name, error: shown?.(failedReason ?? '') ?? '' }
    return terms.every(({ field, text }) =>
      (field === 'any' ? fields : [field]).some((one) =>
        one === 'id' ? texts.id.toLowerCase() === text : texts[one].toLowerCase().includes(text),
      ),
    )
  }
}
