import { configErrors } from '../config/errors.js'
import { suggest } from '../util/suggest.js'
import type { ZinConfig } from './define-config.js'

/** Throws ZIN_CONFIG_INVALID for responders whose key is not that of a middleware. */
export function checkResponders(responders: ZinConfig['responders'], keys: readonly string[]): void {
  const problems = Object.keys(responders ?? {})
    .filter((key) => responders?.[key] !== undefined && !keys.includes(key))
    .map((key) => {
      const near = suggest(key, keys)
      const fix = near === undefined ? `known keys: ${keys.join(', ') || 'none'}` : `did you mean "responders.${near}"?`
      return `"responders.${key}": no middleware has the key "${key}"; ${fix}`
    })
  if (problems.length > 0) throw configErrors.ZIN_CONFIG_INVALID(problems.join('; '), problems)
}
