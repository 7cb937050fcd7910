import { isStorableText } from 'zin/plugins/queues'
import { isObject, type Problem, problem } from './problem.js'
import type { VersionRefusal } from './record.js'

const code = 'INVALID_REFUSAL'
const longestReason = 500
const longestEvidence = 4096

function isReason(value: unknown): boolean {
  return typeof value === 'string' && value.length >= 1 && value.length <= longestReason && isStorableText(value)
}

function isEvidence(value: unknown): boolean {
  try {
    const text = JSON.stringify(value)
    return text.length <= longestEvidence && isObject(JSON.parse(text))
  } catch {
    return false
  }
}

/** A validated refusal, with its evidence as JSON stores it. */
export function storableRefusal({ evidence, reason }: VersionRefusal): VersionRefusal {
  return evidence === undefined ? { reason } : { reason, evidence: JSON.parse(JSON.stringify(evidence)) }
}

/** All problems of a refusal. */
export function refusalProblems({ evidence, reason }: VersionRefusal): readonly Problem[] {
  const found: Problem[] = []
  if (!isReason(reason)) found.push(problem('reason', code, `"reason" must be text of 1 to ${longestReason} characters`))
  if (evidence !== undefined && !isEvidence(evidence))
    found.push(problem('evidence', code, `"evidence" must be an object of at most ${longestEvidence} characters of JSON`))
  return found
}
