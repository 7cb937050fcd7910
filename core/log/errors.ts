import { defineErrors } from '../errors.js'

/** Errors of the log. */
export const logErrors = defineErrors({
  ZIN_LOG_CHANNEL: {
    message: (what: string) => what,
    when: 'The log channel is unknown, or is `file` without a data folder',
    fix: 'Set `LOG_CHANNEL` to `console`, `stderr`, `file` or `silent`',
  },
  ZIN_LOG_FILE: {
    message: (file: string | number, why: string) => `cannot write the log file ${file}: ${why}; see LOG_CHANNEL`,
    cause: (_file: string | number, _why: string, error: unknown) => error,
    when: 'The log file cannot be opened',
    fix: 'Make its folder writable, or choose another `LOG_CHANNEL`',
  },
})
