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

/** Asks the plugins for the other names of a subject. */
export async function namesOf(subject: string, slot: SlotOf<ComplianceHooks['nameSubject']>): Promise<SubjectNames> {
  const names = new Set([subject])
  const problems: string[] = []
  for (const [plugin, theirs] of await slot.call(subject)) {
    if (theirs instanceof Error) problems.push(`the plugin ${plugin} did not say which other names they have: ${theirs.message}`)
    else for (const name of theirs.filter(isSubject)) if (names.size < mostNames) names.add(name)
  }
  return { names: [...names], problems }
}
