import { suggest } from '../util/suggest.js'
import type { EnvSource } from './read-settings.js'

/** Maximum number of letters by which a name may differ from the intended setting, and minimum length of names that are compared. */
const mostLetters = 2
const shortest = 6
/** Names are compared only if their first or their last letters are equal, this many of them; comparing all would slow down the boot. */
const edge = 3
const maxWarnings = 10

/**
 * Returns one line for each undeclared name in the environment that is similar to the name of an unset setting.
 * Values are never included.
 */
export function misspelledSettings(env: EnvSource, declared: Iterable<string>): readonly string[] {
  const isSet = (name: string): boolean => (env.values[name] ?? '') !== ''
  const known = new Set(declared)
  const open = [...known].filter((name) => name.length >= shortest && !name.endsWith('*') && !isSet(name))
  const lines = Object.keys(env.values)
    .filter((name) => name.length >= shortest && name.length < 100 && isSet(name) && !known.has(name))
    .flatMap((name) => {
      const upper = name.toUpperCase()
      const near = open.filter((other) => upper.slice(0, edge) === other.slice(0, edge) || upper.slice(-edge) === other.slice(-edge))
      const meant = suggest(name, near, mostLetters)
      return meant === undefined ? [] : [`${name} is set (${env.sourceOf(name)}), but no setting has this name; did you mean ${meant}?`]
    })
  return lines.slice(0, maxWarnings)
}
