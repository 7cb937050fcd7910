import { defineErrors } from 'zin'

export const simulationErrors = defineErrors({
  CANARY_SIMULATION_OPTION: {
    message: (option: string, value: string, expected: string) => `--${option} is "${value}"; it must be ${expected}`,
    when: 'An option of `zin canary:simulate` has an invalid value',
    fix: 'Use the format that the message shows',
  },
})
