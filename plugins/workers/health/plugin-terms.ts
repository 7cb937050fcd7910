import { messageOf } from 'zin'
import { isIntIn, isObject } from '../record/problem.js'
import type { HealthTerm, PluginHealthTerm } from './score.js'

/** Most terms of one plugin, and most characters of their texts. */
const mostTerms = 10
const longestName = 50
const longestReason = 500

/** The terms that plugins add. A plugin that failed, was late or answered something else takes no points off, and its term says so. */
export function pluginTerms(added: ReadonlyMap<string, unknown> = new Map()): readonly HealthTerm[] {
  return [...added].flatMap(([plugin, answered]): readonly HealthTerm[] => {
    const unknown = (why: string): readonly HealthTerm[] => [
      { name: 'unknown', penalty: 0, reason: `Not known: ${why}`.slice(0, longestReason), plugin },
    ]
    if (answered instanceof Error) return unknown(messageOf(answered))
    if (!Array.isArray(answered) || answered.length > mostTerms || !answered.every(isTerm)) {
      return unknown(`the plugin must answer at most ${mostTerms} terms {name, penalty: integer 0 to 100, reason}`)
    }
    return answered.map(({ name, penalty, reason }) => ({ name, penalty, reason, plugin }))
  })
}

function isTerm(value: unknown): value is PluginHealthTerm {
  return isObject(value) && isText(value.name, longestName) && isIntIn(value.penalty, 0, 100) && isText(value.reason, longestReason)
}

function isText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= most
}
