import { defineErrors } from 'zin'

export const decisionErrors = defineErrors({
  DECISION_INVALID: {
    message: (rule: string, what: string) => `The decision of rule ${rule} cannot be recorded: ${what}`,
    when: '`record` is called with a malformed field',
    fix: 'Correct the field that the message names, in the plugin of the rule',
  },
  INVALID_DECISIONS_QUERY: {
    status: 400,
    message: (what: string) => `The decisions cannot be listed: ${what}`,
    when: 'A filter of the decisions is malformed',
    fix: 'Correct the parameter that the message names',
  },
  DECISION_SUBJECT_UNKNOWN: {
    message: (what: string, advice: string) => `There is no ${what}, and no decision about one: ${advice}`,
    when: '`zin why` is called with a subject that does not exist, and about which there are no decisions',
    fix: 'Correct the name; the message names the command that lists them',
  },
})
