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
    message: (what: string) => `There is no ${what}, and no decision about one; check the spelling`,
    when: '`zin why` is called with a worker or queue that does not exist, and about which there are no decisions',
    fix: 'List the names with `zin worker:list` or `zin queue:list`',
  },
})
