import { configErrors } from '../config/errors.js'
import { suggest } from '../util/suggest.js'
import type { ZinConfig } from './define-config.js'

/**
 * Throws ZIN_CONFIG_INVALID if a responder has a key that no middleware has. Once plugins have failed, returns the problems as warnings
 * instead: the app continues without these plugins, and the middleware may be one that they did not get to register.
 */
export function checkResponders(
  responders: ZinConfig['responders'],
  keys: readonly string[],
  failed: readonly string[],
): readonly string[] {
  const problems = Object.keys(responders ?? {})
    .filter((key) => responders?.[key] !== undefined && !keys.includes(key))
    .map((key) => {
      const near = suggest(key, keys)
      const fix = near === undefined ? `known keys: ${keys.join(', ') || 'none'}` : `did you mean "responders.${near}"?`
      return `"responders.${key}": no middleware has the key "${key}"; ${fix}`
    })
  if (problems.length > 0 && failed.length === 0) throw configErrors.ZIN_CONFIG_INVALID(problems.join('; '), problems)
  return problems.map((problem) => `${problem}; or it belongs to a plugin that failed: ${failed.join(', ')}`)
}
