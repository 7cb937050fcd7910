import { type Check, problem } from './problem.js'

const versionPattern = /^\d{1,9}\.\d{1,9}\.\d{1,9}$/
export const firstVersion = '1.0.0'

/** The next patch version after the highest of valid ones. */
export function nextPatch(versions: readonly string[]): string {
  const parts = versions.map((version) => version.split('.').map(Number))
  const [major = 0, minor = 0, patch = 0] = parts.sort((a, b) => compare(b, a))[0] ?? []
  return `${major}.${minor}.${patch + 1}`
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((part, index) => part !== b[index])
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}

export const checkVersion: Check = (value) =>
  typeof value === 'string' && versionPattern.test(value)
    ? undefined
    : problem('version', 'INVALID_VERSION_FORMAT', '"version" must be three integers joined by dots, such as "1.0.0"')

export const checkDescription: Check = (value) =>
  typeof value === 'string' && value.length <= 1000
    ? undefined
    : problem('description', 'INVALID_VERSION_DESCRIPTION', '"description" must be text of at most 1000 characters')
