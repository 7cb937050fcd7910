import { defineErrors } from 'zin'

export const healthErrors = defineErrors({
  HEALTH_CHECK_EXISTS: {
    status: 500,
    message: (name: string) => `health: a check named "${name}" is registered already; give this one another name`,
  },
  HEALTH_CHECK_NAME_INVALID: {
    status: 500,
    message: (name: string) => `health: "${name}" is no name of a check; use 1 to 64 of a-z, 0-9 and -, and not database, cache or plugins`,
  },
})
