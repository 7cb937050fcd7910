import { type Check, problem } from './problem.js'

const versionPattern = /^\d{1,9}\.\d{1,9}\.\d{1,9}$/
export const firstVersion = '1.0.0'

export const checkVersion: Check = (value) =>
  typeof value === 'string' && versionPattern.test(value)
    ? undefined
    : problem('version', 'INVALID_VERSION_FORMAT', '"version" must be three integers joined by dots, such as "1.0.0"')

export const checkDescription: Check = (value) =>
  typeof value === 'string' && value.length <= 1000
    ? undefined
    : problem('description', 'INVALID_VERSION_DESCRIPTION', '"description" must be text of at most 1000 characters')
