import type { SlotOf } from 'zin'
import type { ComplianceHooks } from '../hooks.js'
import { isSubject } from './declared.js'

/** Limit on the names of a subject. */
const mostNames = 20

export interface SubjectNames {
  /** The subject as asked for, and the names under which plugins know it, too. */
  readonly names: readonly string[]
  /** Plugins that could not say. */
  readonly problems: readonly string[]
}

/** Asks the plugins for the other names of a subject, and for those of each of them. */
export async function namesOf(subject: string, slot: SlotOf<ComplianceHooks['nameSubject']>): Promise<SubjectNames> {
  const names = new Set([subject])
  const problems = new Set<string>()
  // Includes those that are added meanwhile.
  for (const known of names) {
    for (const [plugin, theirs] of await slot.call(known)) {
      if (theirs instanceof Error) problems.add(`the plugin ${plugin} did not say which other names they have: ${theirs.message}`)
      else
        for (const name of theirs.filter(isSubject))
          if (names.size < mostNames) names.add(name)
          else if (!names.has(name)) problems.add(`the subject has more than ${mostNames} names, and only so many were used`)
    }
  }
  return { names: [...names], problems: [...problems] }
}
