import { defineErrors } from 'zin'

export const healthErrors = defineErrors({
  HEALTH_CHECK_EXISTS: {
    message: (name: string) => `health: a check named "${name}" is already registered; choose another name`,
    when: 'A check with this name is already registered',
    fix: 'Give the check another name',
  },
  HEALTH_CHECK_NAME_INVALID: {
    message: (name: string) =>
      `health: "${name}" is not a valid check name; use 1 to 64 characters of a-z, 0-9 and -, except database, cache, plugins and clock`,
    when: 'The name of a check is not 1 to 64 of `a-z`, `0-9` and `-`, or is `database`, `cache`, `plugins` or `clock`',
    fix: 'Choose another name',
  },
})
