import { messageOf } from 'zin'
import { isIntIn, isObject } from '../record/problem.js'
import type { HealthTerm, PluginHealthTerm } from './score.js'

/** Maximum number of terms of one plugin, and maximum length of their texts. */
const mostTerms = 10
const longestName = 50
const longestReason = 500

/** Returns the terms of plugins. A plugin that failed, timed out or returned something else has one term with penalty 0 that states why. */
export function pluginTerms(added: ReadonlyMap<string, unknown> = new Map()): readonly HealthTerm[] {
  return [...added].flatMap(([plugin, returned]): readonly HealthTerm[] => {
    const unknown = (why: string): readonly HealthTerm[] => [
      { name: 'unknown', penalty: 0, reason: `Unknown: ${why}`.slice(0, longestReason), plugin },
    ]
    if (returned instanceof Error) return unknown(messageOf(returned))
    if (!Array.isArray(returned) || returned.length > mostTerms || !returned.every(isTerm)) {
      return unknown(`the plugin must return at most ${mostTerms} terms {name, penalty: integer 0 to 100, reason}`)
    }
    return returned.map(({ name, penalty, reason }) => ({ name, penalty, reason, plugin }))
  })
}

function isTerm(value: unknown): value is PluginHealthTerm {
  return isObject(value) && isText(value.name, longestName) && isIntIn(value.penalty, 0, 100) && isText(value.reason, longestReason)
}

function isText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= most
}
