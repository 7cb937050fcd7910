import { createRequire } from 'node:module'

/** Whether a version is in a range of npm. semver is loaded on the first call: most apps declare no ranges, and it consists of a hundred files. */
export function satisfies(version: string, range: string): boolean {
  const semver = createRequire(import.meta.url)('semver') as typeof import('semver')
  return semver.satisfies(version, range)
}
